#include "cublaslt.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include <tenon/core/half.hpp>

#include "emulator/control.hpp"
#include "planned_faults.hpp"

namespace {

using tenon::bfloat16;
using tenon::half;

// What the opaque pointers of the interface point at. The first word says which it is.
enum class kind : std::uint64_t { context = 0x17c0ffee01, operation, layout, preference, dead };
struct context {
    kind is = kind::context;
    int card = 0;
};
struct operation {
    kind is = kind::operation;
    std::int32_t compute_type = 0, scale_type = 0, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
    std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N, transpose_c = CUBLAS_OP_N;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void* bias = nullptr;
    std::int64_t bias_stride = 0;
    std::int32_t bias_type = -1;
};
struct layout {
    kind is = kind::layout;
    std::uint32_t type = 0;
    std::int32_t order = CUBLASLT_ORDER_COL;
    std::uint64_t rows = 0, columns = 0;
    std::int64_t leading = 0;
    std::int32_t count = 1;
    std::int64_t stride = 0;
    // The element of row i and column j.
    std::int64_t at(std::int64_t i, std::int64_t j) const {
        return order == CUBLASLT_ORDER_COL ? i + j * leading : i * leading + j;
    }
};
struct preference {
    kind is = kind::preference;
    std::uint64_t most_workspace = 0;
    std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    std::uint32_t align_a = 256, align_b = 256, align_c = 256, align_d = 256;
};
// What the heuristic writes into an algorithm.
struct algorithm {
    std::uint64_t magic, product, workspace;
    std::uint32_t align_a, align_b, align_c, align_d, align_bias, unused;
};
static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t));
constexpr std::uint64_t algorithm_magic = 0xa190417bull;

auto& faults =
    *new tenon::emulator::planned_faults<cublasStatus_t>; // never destroyed: some is called when the program ends
struct library_state {
    std::mutex guard;
    bool any = true, with_epilogue = true;
    std::size_t workspace = 0;
    tenon::emulator::cublaslt::counts counted{};
};
library_state& the_library() {
    static library_state s;
    return s;
}

template <class T, class Opaque> T* known(Opaque p, kind which) {
    T* const t = reinterpret_cast<T*>(p);
    return t && t->is == which ? t : nullptr;
}
const operation* of(cublasLtMatmulDesc_t p) { return known<operation>(p, kind::operation); }
const layout* of(cublasLtMatrixLayout_t p) { return known<layout>(p, kind::layout); }

template <class T> cublasStatus_t set(T& to, const void* from, std::size_t bytes) {
    if (!from || bytes != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&to, from, sizeof to);
    return CUBLAS_STATUS_SUCCESS;
}

bool adds_bias(const operation& o) {
    return o.epilogue == CUBLASLT_EPILOGUE_BIAS || o.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}
bool clips(const operation& o) {
    return o.epilogue == CUBLASLT_EPILOGUE_RELU || o.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

// Whether the table of types has this row: compute type, scale type, A and B, C and D.
bool has_types(const operation& o, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    switch (o.compute_type) {
    case CUBLAS_COMPUTE_64F: return o.scale_type == CUDA_R_64F && a == CUDA_R_64F && b == a && c == a;
    case CUBLAS_COMPUTE_32F_FAST_TF32: return o.scale_type == CUDA_R_32F && a == CUDA_R_32F && b == a && c == a;
    case CUBLAS_COMPUTE_32F:
        return o.scale_type == CUDA_R_32F && b == a &&
               ((a == CUDA_R_32F && c == a) || ((a == CUDA_R_16F || a == CUDA_R_16BF) && (c == a || c == CUDA_R_32F)));
    case CUBLAS_COMPUTE_32I: return o.scale_type == CUDA_R_32I && a == CUDA_R_8I && b == a && c == CUDA_R_32I;
    default: return false;
    }
}

struct product_sizes {
    std::int64_t m, n, k;
};

// What products of integers ask for in column-major order: A transposed and B not, leading dimensions, m and k multiples of 4, no
// epilogue.
bool has_integer_product(const operation& o, const layout& a, const layout& b, const layout& c, const layout& d,
                         const product_sizes& sizes) {
    for (const layout* l : {&a, &b, &c, &d})
        if (l->order != CUBLASLT_ORDER_COL || l->leading % 4 != 0) return false;
    return o.transpose_a == CUBLAS_OP_T && o.transpose_b == CUBLAS_OP_N && sizes.m % 4 == 0 && sizes.k % 4 == 0 &&
           o.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
}

// What is asked for, or why not.
cublasStatus_t judge(const operation& o, const layout& a, const layout& b, const layout& c, const layout& d,
                     product_sizes& sizes) {
    for (const layout* l : {&a, &b, &c, &d}) {
        constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
        if (l->order != CUBLASLT_ORDER_COL && l->order != CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
        if (l->rows == 0 || l->columns == 0 || l->rows > most || l->columns > most) return CUBLAS_STATUS_INVALID_VALUE;
        const std::uint64_t least = l->order == CUBLASLT_ORDER_COL ? l->rows : l->columns;
        if (l->leading < 0 || static_cast<std::uint64_t>(l->leading) < least) return CUBLAS_STATUS_INVALID_VALUE;
        if (l->count < 1 || l->count != d.count) return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (o.pointer_mode != CUBLASLT_POINTER_MODE_HOST || o.transpose_c != CUBLAS_OP_N)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool ta = o.transpose_a == CUBLAS_OP_T, tb = o.transpose_b == CUBLAS_OP_T;
    if ((!ta && o.transpose_a != CUBLAS_OP_N) || (!tb && o.transpose_b != CUBLAS_OP_N))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const std::uint64_t m = ta ? a.columns : a.rows, k = ta ? a.rows : a.columns;
    const std::uint64_t k_of_b = tb ? b.columns : b.rows, n = tb ? b.rows : b.columns;
    if (k != k_of_b) return CUBLAS_STATUS_INVALID_VALUE;
    for (const layout* l : {&c, &d})
        if (l->rows != m || l->columns != n) return CUBLAS_STATUS_INVALID_VALUE;
    if (c.type != d.type || c.order != d.order) return CUBLAS_STATUS_INVALID_VALUE;
    // What is written may not lie in the same place twice.
    if (d.count > 1) {
        const auto lines = static_cast<std::int64_t>(d.order == CUBLASLT_ORDER_COL ? n : m);
        const auto in_line = static_cast<std::int64_t>(d.order == CUBLASLT_ORDER_COL ? m : n);
        const std::int64_t matrix = (lines - 1) * d.leading + in_line;
        // Matrices beside each other, or interleaved line by line.
        if (d.stride < matrix && !(d.stride >= in_line && d.stride * d.count <= d.leading))
            return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (!has_types(o, a.type, b.type, d.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (o.epilogue != CUBLASLT_EPILOGUE_DEFAULT && !adds_bias(o) && !clips(o)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (o.epilogue != CUBLASLT_EPILOGUE_DEFAULT && d.order == CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (adds_bias(o) && o.bias_type != -1 && static_cast<std::uint32_t>(o.bias_type) != d.type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    sizes = {static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), static_cast<std::int64_t>(k)};
    if (o.compute_type == CUBLAS_COMPUTE_32I && !has_integer_product(o, a, b, c, d, sizes))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

// A number for all that an algorithm depends on.
std::uint64_t number_of(const operation& o, std::initializer_list<const layout*> layouts) {
    std::uint64_t h = 1469598103934665603ull;
    const auto mix = [&](auto... values) { ((h = (h ^ static_cast<std::uint64_t>(values)) * 1099511628211ull), ...); };
    mix(o.compute_type, o.scale_type, o.transpose_a, o.transpose_b, o.epilogue);
    for (const layout* l : layouts) mix(l->type, l->order, l->rows, l->columns, l->leading, l->count, l->stride);
    return h;
}

std::uint32_t alignment_of(const void* p) {
    const auto bits = reinterpret_cast<std::uintptr_t>(p) | 256;
    return static_cast<std::uint32_t>(bits & (~bits + 1));
}
bool is_aligned(const void* p, std::uint32_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }

double read(std::uint32_t type, const void* from, std::int64_t at) {
    switch (type) {
    case CUDA_R_64F: return static_cast<const double*>(from)[at];
    case CUDA_R_16F: return static_cast<double>(static_cast<float>(static_cast<const half*>(from)[at]));
    case CUDA_R_16BF: return static_cast<double>(static_cast<float>(static_cast<const bfloat16*>(from)[at]));
    case CUDA_R_8I: return static_cast<const std::int8_t*>(from)[at];
    case CUDA_R_32I: return static_cast<const std::int32_t*>(from)[at];
    default: return static_cast<double>(static_cast<const float*>(from)[at]);
    }
}
void write(std::uint32_t type, void* to, std::int64_t at, double value) {
    switch (type) {
    case CUDA_R_64F: static_cast<double*>(to)[at] = value; break;
    case CUDA_R_16F: static_cast<half*>(to)[at] = static_cast<half>(static_cast<float>(value)); break;
    case CUDA_R_16BF: static_cast<bfloat16*>(to)[at] = static_cast<bfloat16>(static_cast<float>(value)); break;
    case CUDA_R_32I: // the documentation does not say what is beyond its range: here the end of it
        static_cast<std::int32_t*>(to)[at] = static_cast<std::int32_t>(std::clamp(value, -0x1p31, 0x1p31 - 1));
        break;
    default: static_cast<float*>(to)[at] = static_cast<float>(value);
    }
}
// A float with 10 bits of fraction.
double rounded_to_tf32(double x) {
    if (!std::isfinite(x) || x == 0) return x;
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

struct matmul {
    operation o;
    layout la, lb, lc, ld;
    product_sizes sizes;
    double alpha, beta;
    const void *a, *b, *c;
    void *d, *workspace;
    std::size_t workspace_bytes;

    void compute() const {
        std::memset(workspace, 0xee, workspace_bytes);
        const bool ta = o.transpose_a == CUBLAS_OP_T, tb = o.transpose_b == CUBLAS_OP_T;
        const bool tf32 = o.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
        const auto element = [tf32](const layout& l, const void* from, std::int64_t batch, std::int64_t i,
                                    std::int64_t j) {
            const double x = read(l.type, from, batch * l.stride + l.at(i, j));
            return tf32 ? rounded_to_tf32(x) : x;
        };
        for (std::int64_t p = 0; p < ld.count; ++p)
            for (std::int64_t i = 0; i < sizes.m; ++i)
                for (std::int64_t j = 0; j < sizes.n; ++j) {
                    double sum = 0;
                    for (std::int64_t l = 0; l < sizes.k; ++l)
                        sum += (ta ? element(la, a, p, l, i) : element(la, a, p, i, l)) *
                               (tb ? element(lb, b, p, j, l) : element(lb, b, p, l, j));
                    double x = alpha * sum;
                    if (beta != 0) x += beta * read(lc.type, c, p * lc.stride + lc.at(i, j));
                    if (adds_bias(o)) x += read(ld.type, o.bias, p * o.bias_stride + i);
                    if (clips(o) && !(x > 0)) x = 0; // of NaN, too
                    write(ld.type, d, p * ld.stride + ld.at(i, j), x);
                }
    }
};

template <class T, class Opaque, class... Value>
cublasStatus_t create(Opaque* to, std::size_t tenon::emulator::cublaslt::counts::*living, Value... values) {
    if (!to) return CUBLAS_STATUS_INVALID_VALUE;
    *to = reinterpret_cast<Opaque>(new T{values...});
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    ++(s.counted.*living);
    return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Opaque>
cublasStatus_t destroy(Opaque p, kind which, std::size_t tenon::emulator::cublaslt::counts::*living) {
    T* const t = known<T>(p, which);
    if (!t) return CUBLAS_STATUS_INVALID_VALUE;
    t->is = kind::dead;
    delete t;
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    --(s.counted.*living);
    return CUBLAS_STATUS_SUCCESS;
}

using living = tenon::emulator::cublaslt::counts;

} // namespace

namespace tenon::emulator::cublaslt {

void reset() {
    faults.clear();
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    s.any = s.with_epilogue = true;
    s.workspace = 0;
    s.counted.heuristics = s.counted.products = s.counted.largest_limit = 0;
}
void fail(const std::string& function, cublasStatus_t status, std::uint64_t after, std::uint64_t times) {
    faults.plan(function, status, after, times);
}
void has_algorithms(bool any, bool with_epilogue) {
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    s.any = any;
    s.with_epilogue = with_epilogue;
}
void needs_workspace(std::size_t bytes) {
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    s.workspace = bytes;
}
counts count() {
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    return s.counted;
}

} // namespace tenon::emulator::cublaslt

extern "C" {

const char* cublasLtGetStatusName(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "unknown";
    }
}
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    TENON_REFUSE(cublasLtCreate);
    int card = 0;
    if (cudaGetDevice(&card) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
    return create<context>(handle, &living::handles, kind::context, card);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    return destroy<context>(handle, kind::context, &living::handles);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* to, cublasComputeType_t compute_type,
                                        cudaDataType_t scale_type) {
    TENON_REFUSE(cublasLtMatmulDescCreate);
    return create<operation>(to, &living::operations, kind::operation, static_cast<std::int32_t>(compute_type),
                             static_cast<std::int32_t>(scale_type));
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t p) {
    return destroy<operation>(p, kind::operation, &living::operations);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t p, cublasLtMatmulDescAttributes_t which,
                                              const void* from, size_t bytes) {
    TENON_REFUSE(cublasLtMatmulDescSetAttribute);
    operation* const o = known<operation>(p, kind::operation);
    if (!o) return CUBLAS_STATUS_INVALID_VALUE;
    switch (which) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return set(o->compute_type, from, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return set(o->scale_type, from, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return set(o->pointer_mode, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(o->transpose_a, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set(o->transpose_b, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC: return set(o->transpose_c, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(o->epilogue, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(o->bias, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return set(o->bias_stride, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return set(o->bias_type, from, bytes);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* to, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
    TENON_REFUSE(cublasLtMatrixLayoutCreate);
    return create<layout>(to, &living::layouts, kind::layout, static_cast<std::uint32_t>(type),
                          static_cast<std::int32_t>(CUBLASLT_ORDER_COL), rows, columns, leading);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t p) {
    return destroy<layout>(p, kind::layout, &living::layouts);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t p, cublasLtMatrixLayoutAttribute_t which,
                                                const void* from, size_t bytes) {
    TENON_REFUSE(cublasLtMatrixLayoutSetAttribute);
    layout* const l = known<layout>(p, kind::layout);
    if (!l) return CUBLAS_STATUS_INVALID_VALUE;
    switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return set(l->type, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return set(l->order, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return set(l->rows, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return set(l->columns, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return set(l->leading, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return set(l->count, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return set(l->stride, from, bytes);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* to) {
    TENON_REFUSE(cublasLtMatmulPreferenceCreate);
    return create<preference>(to, &living::preferences);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
    return destroy<preference>(p, kind::preference, &living::preferences);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* from,
                                                    size_t bytes) {
    TENON_REFUSE(cublasLtMatmulPreferenceSetAttribute);
    preference* const f = known<preference>(p, kind::preference);
    if (!f) return CUBLAS_STATUS_INVALID_VALUE;
    switch (which) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return set(f->most_workspace, from, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return set(f->reductions, from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return set(f->align_a, from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return set(f->align_b, from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return set(f->align_c, from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return set(f->align_d, from, bytes);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t op,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preferred, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
    TENON_REFUSE(cublasLtMatmulAlgoGetHeuristic);
    if (!known<context>(handle, kind::context)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const preference* const f = known<preference>(preferred, kind::preference);
    if (!of(op) || !of(a) || !of(b) || !of(c) || !of(d) || !f || wanted <= 0 || !results || !found)
        return CUBLAS_STATUS_INVALID_VALUE;
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    ++s.counted.heuristics;
    s.counted.largest_limit = std::max(s.counted.largest_limit, f->most_workspace);
    *found = 0;
    product_sizes sizes{};
    const cublasStatus_t verdict = judge(*of(op), *of(a), *of(b), *of(c), *of(d), sizes);
    if (verdict != CUBLAS_STATUS_SUCCESS) return verdict;
    if (!s.any || (!s.with_epilogue && of(op)->epilogue != CUBLASLT_EPILOGUE_DEFAULT))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (of(op)->compute_type == CUBLAS_COMPUTE_32I)
        for (const std::uint32_t promised : {f->align_a, f->align_b, f->align_c, f->align_d})
            if (promised % 4 != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    // Parts of a sum that are rounded to the result's type, which a caller of 16-bit floats may not want.
    const bool may_round =
        (f->reductions & (CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE | CUBLASLT_REDUCTION_SCHEME_INPLACE)) != 0;
    if (may_round && (of(d)->type == CUDA_R_16F || of(d)->type == CUDA_R_16BF)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (s.workspace > f->most_workspace) return CUBLAS_STATUS_SUCCESS; // and none found
    const std::uint64_t number = number_of(*of(op), {of(a), of(b), of(c), of(d)});
    const std::uint64_t limit = std::min<std::uint64_t>(f->most_workspace, 65536);
    const algorithm chosen{algorithm_magic,
                           number,
                           s.workspace       ? s.workspace
                           : number % 3 == 0 ? 0
                                             : number % (limit + 1),
                           f->align_a,
                           f->align_b,
                           f->align_c,
                           f->align_d,
                           adds_bias(*of(op)) ? alignment_of(of(op)->bias) : 1,
                           0};
    std::memcpy(&results[0].algo, &chosen, sizeof chosen);
    results[0].workspaceSize = chosen.workspace;
    results[0].state = CUBLAS_STATUS_SUCCESS;
    results[0].wavesCount = 1;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t op, const void* alpha, const void* A,
                              cublasLtMatrixLayout_t a, const void* B, cublasLtMatrixLayout_t b, const void* beta,
                              const void* C, cublasLtMatrixLayout_t c, void* D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
    TENON_REFUSE(cublasLtMatmul);
    const context* const h = known<context>(handle, kind::context);
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!of(op) || !of(a) || !of(b) || !of(c) || !of(d) || !alpha || !beta || !A || !B || !C || !D)
        return CUBLAS_STATUS_INVALID_VALUE;
    matmul m{*of(op), *of(a), *of(b), *of(c), *of(d), {}, 0, 0, A, B, C, D, workspace, workspace_bytes};
    const cublasStatus_t verdict = judge(m.o, m.la, m.lb, m.lc, m.ld, m.sizes);
    if (verdict != CUBLAS_STATUS_SUCCESS) return verdict;
    if (C == D && (m.lc.leading != m.ld.leading || m.lc.stride != m.ld.stride)) return CUBLAS_STATUS_INVALID_VALUE;
    int card = 0;
    if (cudaGetDevice(&card) != cudaSuccess || card != h->card) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (!algo) return CUBLAS_STATUS_NOT_SUPPORTED; // the library may choose by itself; here nobody asks it to
    algorithm chosen{};
    std::memcpy(&chosen, algo, sizeof chosen);
    if (chosen.magic != algorithm_magic || chosen.product != number_of(m.o, {&m.la, &m.lb, &m.lc, &m.ld}) ||
        workspace_bytes < chosen.workspace || (workspace_bytes > 0 && (!workspace || !is_aligned(workspace, 256))))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (adds_bias(m.o) && (!m.o.bias || !is_aligned(m.o.bias, chosen.align_bias))) return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_aligned(A, chosen.align_a) || !is_aligned(B, chosen.align_b) || !is_aligned(C, chosen.align_c) ||
        !is_aligned(D, chosen.align_d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (m.o.compute_type == CUBLAS_COMPUTE_32I)
        for (const void* p : {A, B, C, static_cast<const void*>(D)})
            if (!is_aligned(p, 4)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const auto scale_type = static_cast<std::uint32_t>(m.o.scale_type);
    m.alpha = read(scale_type, alpha, 0);
    m.beta = read(scale_type, beta, 0);
    {
        library_state& s = the_library();
        const std::lock_guard lock(s.guard);
        ++s.counted.products;
    }
    const auto work = [m] {
        m.compute();
        return true;
    };
    return tenon::emulator::enqueue(stream, "cublasLtMatmul", work) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                                   : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // extern "C"
