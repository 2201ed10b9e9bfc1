#include "cublaslt.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "cublaslt_product.hpp"
#include "emulator/control.hpp"
#include "held.hpp"
#include "planned_faults.hpp"

namespace {

using namespace tenon::emulator::cublaslt;

struct context {
    kind is = kind::context;
    int card = 0;
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
    std::uint32_t align_a, align_b, align_c, align_d, align_bias, align_aux;
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
tenon::emulator::held<library_state> the_library() {
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

// Products of 8 bits come with 8.9.
bool has_types_on(int card, const layout& a) {
    if (!is_float8(a.type)) return true;
    int major = 0, minor = 0;
    return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, card) == cudaSuccess &&
           cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, card) == cudaSuccess &&
           major * 10 + minor >= 89;
}

// A number for all that an algorithm depends on.
std::uint64_t number_of(const operation& o, std::initializer_list<const layout*> layouts) {
    std::uint64_t h = 1469598103934665603ull;
    const auto mix = [&](auto... values) { ((h = (h ^ static_cast<std::uint64_t>(values)) * 1099511628211ull), ...); };
    mix(o.compute_type, o.scale_type, o.transpose_a, o.transpose_b, o.epilogue, o.aux_leading, o.aux_stride);
    for (const layout* l : layouts) mix(l->type, l->order, l->rows, l->columns, l->leading, l->count, l->stride);
    return h;
}

std::uint32_t alignment_of(const void* p) {
    const auto bits = reinterpret_cast<std::uintptr_t>(p) | 256;
    return static_cast<std::uint32_t>(bits & (~bits + 1));
}
bool is_aligned(const void* p, std::uint32_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }

template <class T, class Opaque, class... Value>
cublasStatus_t create(Opaque* to, std::size_t tenon::emulator::cublaslt::counts::*living, Value... values) {
    if (!to) return CUBLAS_STATUS_INVALID_VALUE;
    *to = reinterpret_cast<Opaque>(new T{values...});
    ++(the_library()->counted.*living);
    return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Opaque>
cublasStatus_t destroy(Opaque p, kind which, std::size_t tenon::emulator::cublaslt::counts::*living) {
    T* const t = known<T>(p, which);
    if (!t) return CUBLAS_STATUS_INVALID_VALUE;
    t->is = kind::dead;
    delete t;
    --(the_library()->counted.*living);
    return CUBLAS_STATUS_SUCCESS;
}

using living = tenon::emulator::cublaslt::counts;

} // namespace

namespace tenon::emulator::cublaslt {

void reset() {
    faults.clear();
    const auto s = the_library();
    s->any = s->with_epilogue = true;
    s->workspace = 0;
    s->counted.heuristics = s->counted.products = s->counted.of_float8 = s->counted.largest_limit = 0;
    s->counted.with_gelu = s->counted.with_gelu_gradient = s->counted.with_row_sums = 0;
}
void fail(const std::string& function, cublasStatus_t status, std::uint64_t after, std::uint64_t times) {
    faults.plan(function, status, after, times);
}
void has_algorithms(bool any, bool with_epilogue) {
    const auto s = the_library();
    s->any = any;
    s->with_epilogue = with_epilogue;
}
void needs_workspace(std::size_t bytes) { the_library()->workspace = bytes; }
counts count() { return the_library()->counted; }

} // namespace tenon::emulator::cublaslt

extern "C" {
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
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
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return set(o->scale_a, from, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return set(o->scale_b, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return set(o->aux, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return set(o->aux_leading, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return set(o->aux_stride, from, bytes);
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
    const context* const h = known<context>(handle, kind::context);
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    const preference* const f = known<preference>(preferred, kind::preference);
    if (!of(op) || !of(a) || !of(b) || !of(c) || !of(d) || !f || wanted <= 0 || !results || !found)
        return CUBLAS_STATUS_INVALID_VALUE;
    const auto s = the_library();
    ++s->counted.heuristics;
    s->counted.largest_limit = std::max(s->counted.largest_limit, f->most_workspace);
    *found = 0;
    product_sizes sizes{};
    const cublasStatus_t verdict = judge(*of(op), *of(a), *of(b), *of(c), *of(d), sizes);
    if (verdict != CUBLAS_STATUS_SUCCESS) return verdict;
    if (!has_types_on(h->card, *of(a))) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!s->any || (!s->with_epilogue && of(op)->epilogue != CUBLASLT_EPILOGUE_DEFAULT))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (of(op)->compute_type == CUBLAS_COMPUTE_32I)
        for (const std::uint32_t promised : {f->align_a, f->align_b, f->align_c, f->align_d})
            if (promised % 4 != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    // Parts of a sum that are rounded to the result's type, which a caller of 16-bit floats may not want.
    const bool may_round =
        (f->reductions & (CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE | CUBLASLT_REDUCTION_SCHEME_INPLACE)) != 0;
    if (may_round && (of(d)->type == CUDA_R_16F || of(d)->type == CUDA_R_16BF)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (s->workspace > f->most_workspace) return CUBLAS_STATUS_SUCCESS; // and none found
    const std::uint64_t number = number_of(*of(op), {of(a), of(b), of(c), of(d)});
    const std::uint64_t limit = std::min<std::uint64_t>(f->most_workspace, 65536);
    const algorithm chosen{algorithm_magic,
                           number,
                           s->workspace      ? s->workspace
                           : number % 3 == 0 ? 0
                                             : number % (limit + 1),
                           f->align_a,
                           f->align_b,
                           f->align_c,
                           f->align_d,
                           adds_bias(*of(op)) || sums_rows(*of(op)) ? alignment_of(of(op)->bias) : 1,
                           has_aux(*of(op)) ? alignment_of(of(op)->aux) : 1};
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
    if (!has_types_on(h->card, m.la)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (C == D && (m.lc.leading != m.ld.leading || m.lc.stride != m.ld.stride)) return CUBLAS_STATUS_INVALID_VALUE;
    int card = 0;
    if (cudaGetDevice(&card) != cudaSuccess || card != h->card) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (!algo) return CUBLAS_STATUS_NOT_SUPPORTED; // the library may choose by itself; here nobody asks it to
    algorithm chosen{};
    std::memcpy(&chosen, algo, sizeof chosen);
    if (chosen.magic != algorithm_magic || chosen.product != number_of(m.o, {&m.la, &m.lb, &m.lc, &m.ld}) ||
        workspace_bytes < chosen.workspace || (workspace_bytes > 0 && (!workspace || !is_aligned(workspace, 256))))
        return CUBLAS_STATUS_INVALID_VALUE;
    if ((adds_bias(m.o) || sums_rows(m.o)) && (!m.o.bias || !is_aligned(m.o.bias, chosen.align_bias)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (has_aux(m.o) && (!m.o.aux || !is_aligned(m.o.aux, chosen.align_aux))) return CUBLAS_STATUS_INVALID_VALUE;
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
        const auto s = the_library();
        ++s->counted.products;
        s->counted.of_float8 += is_float8(m.la.type);
        s->counted.with_gelu += is_gelu(m.o);
        s->counted.with_gelu_gradient += is_gelu_gradient(m.o);
        s->counted.with_row_sums += sums_rows(m.o);
    }
    const auto work = [m] {
        m.compute();
        return true;
    };
    return tenon::emulator::enqueue(stream, "cublasLtMatmul", work) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                                   : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // extern "C"
