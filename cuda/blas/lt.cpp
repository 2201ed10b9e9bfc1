#if defined(TENON_WITH_CUBLASLT)

#include <cuda/blas/lt.hpp>

#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <vector>

#include <cuda/device/library.hpp>
#include <cuda/device/wish.hpp>
#include <tenon/core/error.hpp>

namespace tenon::cuda {

namespace {

// clang-format off
#define TENON_FUNCTIONS(F) \
    F(cublasLtCreate) F(cublasLtDestroy) F(cublasLtGetStatusString) F(cublasLtMatmulDescCreate) \
    F(cublasLtMatmulDescDestroy) F(cublasLtMatmulDescSetAttribute) F(cublasLtMatrixLayoutCreate) \
    F(cublasLtMatrixLayoutDestroy) F(cublasLtMatrixLayoutSetAttribute) \
    F(cublasLtMatmulPreferenceCreate) F(cublasLtMatmulPreferenceDestroy) \
    F(cublasLtMatmulPreferenceSetAttribute) F(cublasLtMatmulAlgoGetHeuristic) F(cublasLtMatmul)
// clang-format on
TENON_LIBRARY_FUNCTIONS(functions, TENON_FUNCTIONS);
#undef TENON_FUNCTIONS

// nullptr where there is none: products are slower then.
const functions* lt_functions() {
    const auto version = [](library& l) { // 130200 of 13.2.0
        const auto v = static_cast<int>(l.get<decltype(::cublasLtGetVersion)>("cublasLtGetVersion")());
        return std::pair(v / 10000, v / 100 % 100);
    };
    const auto say = [](const std::string& why) {
        std::fprintf(stderr,
                     "tenon: products of matrices on GPUs are made by Tenon's own kernels, which are slower: %s\n",
                     why.c_str());
    };
    return toolkit_functions<functions>("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so"}, library_folders::cublaslt,
                                        version, CUBLAS_VER_MAJOR, say);
}

// "own" in TENON_CUDA_PRODUCTS: cuBLASLt is not asked.
bool asks_library() { return !is_wished("TENON_CUDA_PRODUCTS", "own"); }

// Of one GPU.
struct lt_state {
    explicit lt_state(gpu_context& on) {
        on.use();
        check(lt_functions()->cublasLtCreate(&handle), "cublasLtCreate", "the products on " + on.name);
    }
    ~lt_state() { (void)lt_functions()->cublasLtDestroy(handle); }
    lt_state(lt_state&&) = delete;

    cublasLtHandle_t handle = nullptr;
    std::mutex guard;                                                                   // of what follows
    std::map<std::vector<std::int64_t>, std::optional<lt_product::algorithms>> choices; // by description
    static constexpr std::size_t most_choices = 4096;
};

struct numbers {
    cudaDataType_t a, b, result;
    cublasComputeType_t computed_in;
    cudaDataType_t scale;
};
numbers numbers_of(const gemm_description& d, bool tf32) {
    const auto alike = [](cudaDataType_t e, cublasComputeType_t in, cudaDataType_t scale) {
        return numbers{e, e, e, in, scale};
    };
    numbers n = alike(CUDA_R_32F, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
    switch (d.element) {
    case element_type::float64: n = alike(CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F); break;
    case element_type::float16: n = alike(CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F); break;
    case element_type::bfloat16: n = alike(CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F); break;
    case element_type::int8: n = {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I}; break;
    default: break;
    }
    if (!d.float8) return n;
    const auto of = [](float8_format f) { return f == float8_format::e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2; };
    return {of(d.format_a), of(d.format_b), n.result, CUBLAS_COMPUTE_32F, CUDA_R_32F};
}
// Of a and of b.
std::size_t operand_bytes(const gemm_description& d) { return d.float8 ? 1 : size_of(d.element); }

// A factor of a product, in the type that it is scaled in.
struct factor {
    explicit factor(double x) : as_float(static_cast<float>(x)), as_double(x), as_int(static_cast<std::int32_t>(x)) {}
    const void* in(element_type e) const {
        if (e == element_type::float64) return &as_double;
        if (e == element_type::int8) return &as_int;
        return &as_float;
    }
    float as_float;
    double as_double;
    std::int32_t as_int;
};

constexpr std::int64_t most_batched = 65535; // of a grid's third dimension, which some algorithms use

bool has_size(const gemm_description& d) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    for (int i = 0; i < d.dimensions; ++i)
        if (d.batch[i].size == 0) return false;
    return d.m > 0 && d.n > 0 && d.k > 0 && d.m <= most && d.n <= most && d.k <= most;
}

// The dimension of the batch with most products that cuBLASLt goes through by itself; the others are gone through by run().
int batched_dimension(const gemm_description& d) {
    int best = -1;
    for (int i = 0; i < d.dimensions; ++i)
        if (d.batch[i].size <= most_batched && (best < 0 || d.batch[i].size > d.batch[best].size)) best = i;
    return best;
}

// Launches beyond these cost more than what is saved.
constexpr std::int64_t most_launches = 64;
constexpr double large_product = 1e8; // operations of one launch

bool is_worth(const gemm_description& d, int batched) {
    std::int64_t launches = 1;
    for (int i = 0; i < d.dimensions; ++i)
        if (i != batched) launches *= d.batch[i].size;
    const double operations = 2.0 * static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) *
                              static_cast<double>(batched < 0 ? 1 : d.batch[batched].size);
    return launches <= most_launches || operations >= large_product;
}

// What all addresses of an operand are multiples of, when the first one is a multiple of `first`.
std::uint32_t alignment_of(std::size_t first, const gemm_description& d, int batched, std::int64_t gemm_batch::*step,
                           std::size_t element_bytes) {
    auto bytes = static_cast<std::uint64_t>(first);
    for (int i = 0; i < d.dimensions; ++i)
        if (i != batched) bytes |= static_cast<std::uint64_t>(d.batch[i].*step) * element_bytes;
    return static_cast<std::uint32_t>(bytes & (~bytes + 1)); // the lowest bit of all
}

// Of the transposed product that cuBLASLt is asked for, whose A is b.
cublasLtEpilogue_t epilogue_of(const gemm_description& d) {
    if (d.sums_a) return CUBLASLT_EPILOGUE_BGRADB;
    if (d.sums_b) return CUBLASLT_EPILOGUE_BGRADA;
    if (d.gelu_gradient) return CUBLASLT_EPILOGUE_DGELU;
    if (d.gelu) return d.keeps_input ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_BIAS;
    return d.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// What gelu keeps, and its gradient reads, has rows in eights, and is of one product, or of a batch that the library goes through.
bool has_epilogue_of(const gemm_description& d) {
    return !d.relu && !((d.keeps_input || d.gelu_gradient) && (d.n % 8 != 0 || d.dimensions > 0));
}

std::vector<std::int64_t> key_of(const gemm_description& d, bool tf32) {
    std::vector<std::int64_t> key{static_cast<std::int64_t>(d.element),
                                  d.m,
                                  d.n,
                                  d.k,
                                  d.transpose_a,
                                  d.transpose_b,
                                  epilogue_of(d),
                                  tf32,
                                  d.float8,
                                  static_cast<std::int64_t>(d.format_a),
                                  static_cast<std::int64_t>(d.format_b)};
    for (int i = 0; i < d.dimensions; ++i)
        key.insert(key.end(), {d.batch[i].size, d.batch[i].step_a, d.batch[i].step_b, d.batch[i].step_c});
    return key;
}

} // namespace

void check(cublasStatus_t answer, const char* call, const std::string& asked) {
    if (answer == CUBLAS_STATUS_SUCCESS) return;
    const functions* const f = lt_functions();
    const std::string text =
        std::string(call) + ", for " + asked + ": " +
        (f ? f->cublasLtGetStatusString(answer) : "error " + std::to_string(static_cast<int>(answer)));
    switch (answer) {
    case CUBLAS_STATUS_ALLOC_FAILED:
        throw resource_exhausted_error(
            text + "; cuBLASLt needs memory of its own on the GPU and in the host: leave it some by a lower "
                   "memory fraction or limit");
    case CUBLAS_STATUS_NOT_INITIALIZED:
        throw unavailable_error(text + "; is the driver older than the library, or the GPU's memory full?");
    case CUBLAS_STATUS_NOT_SUPPORTED: throw unimplemented_error(text + "; this cuBLASLt has no such product");
    case CUBLAS_STATUS_ARCH_MISMATCH: throw unimplemented_error(text + "; not on this GPU");
    default: throw internal_error(text);
    }
}

std::string text_of(const gemm_description& d) {
    const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
        const std::string r = std::to_string(rows), c = std::to_string(columns);
        return transposed ? "[" + c + ", " + r + "] transposed" : "[" + r + ", " + c + "]";
    };
    std::string text = "the product " + matrix(d.m, d.k, d.transpose_a) + " x " + matrix(d.k, d.n, d.transpose_b) +
                       " of " + name_of(d.element) + (d.float8 ? ", of operands of 8 bits" : "");
    if (d.bias) text += d.relu ? " with bias and relu" : d.gelu ? " with bias and gelu" : " with bias";
    if (d.sums_a || d.sums_b) text += " with sums of rows";
    if (d.gelu_gradient) text += " with gelu's slope";
    if (d.addend) text += " added to another";
    for (int i = 0; i < d.dimensions; ++i) text += (i == 0 ? ", batch " : " x ") + std::to_string(d.batch[i].size);
    return text;
}

namespace lt {
void destroyer::operator()(cublasLtMatmulDesc_t d) const noexcept {
    (void)lt_functions()->cublasLtMatmulDescDestroy(d);
}
void destroyer::operator()(cublasLtMatrixLayout_t l) const noexcept {
    (void)lt_functions()->cublasLtMatrixLayoutDestroy(l);
}
void destroyer::operator()(cublasLtMatmulPreference_t p) const noexcept {
    (void)lt_functions()->cublasLtMatmulPreferenceDestroy(p);
}
} // namespace lt

bool has_int8_product(const gemm_description& d) {
    constexpr std::int64_t least_wrapping = (std::int64_t{1} << 31) / (128 * 128);
    return d.transpose_b && !d.transpose_a && d.n % 4 == 0 && d.k % 4 == 0 && !d.bias && d.k < least_wrapping;
}

bool has_float8_product(const gemm_description& d, int capability) {
    return capability >= 89 && !d.transpose_a && d.transpose_b && d.m % 16 == 0 && d.n % 16 == 0 && d.k % 16 == 0 &&
           (d.format_a == float8_format::e4m3 || d.format_b == float8_format::e4m3);
}

std::unique_ptr<lt_product> lt_product::make(gpu_context& on, const gemm_description& d, bool tf32) {
    const bool has_type = d.float8 ? has_float8_product(d, on.capability)
                                   : is_floating(d.element) || (d.element == element_type::int8 && has_int8_product(d));
    if (!has_type || !has_epilogue_of(d) || !has_size(d) || !is_worth(d, batched_dimension(d)) || !asks_library() ||
        !lt_functions() || !on.has_products_of(d.element))
        return nullptr;
    std::unique_ptr<lt_product> made(new lt_product(on, d, tf32));
    return made->found_ ? std::move(made) : nullptr;
}

// cuBLASLt's matrices are column-major: what lies in memory row-major is their transpose. So c' = b' * a' is asked for, n x m, and
// the bias, which cuBLASLt has for each row of its result, is one for each column of c.
lt_product::lt_product(gpu_context& on, const gemm_description& d, bool tf32) :
    d_(d), asked_(text_of(d)), batched_(batched_dimension(d)) {
    const functions& f = *lt_functions();
    on.use();
    lt_state& shared = on.state<lt_state>();
    handle_ = shared.handle;
    const numbers n = numbers_of(d, tf32);

    cublasLtMatmulDesc_t operation = nullptr;
    check(f.cublasLtMatmulDescCreate(&operation, n.computed_in, n.scale), "cublasLtMatmulDescCreate", asked_);
    operation_.reset(operation);
    const auto set = [&](cublasLtMatmulDescAttributes_t which, const auto& value) {
        check(f.cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value),
              "cublasLtMatmulDescSetAttribute", asked_);
    };
    const auto transposed = [](bool t) { return static_cast<std::int32_t>(t ? CUBLAS_OP_T : CUBLAS_OP_N); };
    set(CUBLASLT_MATMUL_DESC_TRANSA, transposed(d.transpose_b));
    set(CUBLASLT_MATMUL_DESC_TRANSB, transposed(d.transpose_a));
    if (const auto epilogue = static_cast<std::uint32_t>(epilogue_of(d)); epilogue != CUBLASLT_EPILOGUE_DEFAULT)
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (has_matrix()) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, d.n);

    const auto layout = [&](lt::owned<cublasLtMatrixLayout_t>& to, cudaDataType_t of, std::int64_t rows,
                            std::int64_t columns, std::int64_t gemm_batch::*step) {
        cublasLtMatrixLayout_t made = nullptr;
        check(f.cublasLtMatrixLayoutCreate(&made, of, static_cast<std::uint64_t>(rows),
                                           static_cast<std::uint64_t>(columns), rows),
              "cublasLtMatrixLayoutCreate", asked_);
        to.reset(made);
        if (batched_ < 0) return;
        const auto count = static_cast<std::int32_t>(d.batch[batched_].size);
        const std::int64_t stride = d.batch[batched_].*step;
        check(f.cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
              "cublasLtMatrixLayoutSetAttribute", asked_);
        check(f.cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                 sizeof stride),
              "cublasLtMatrixLayoutSetAttribute", asked_);
    };
    layout(layout_b_, n.b, d.transpose_b ? d.k : d.n, d.transpose_b ? d.n : d.k, &gemm_batch::step_b);
    layout(layout_a_, n.a, d.transpose_a ? d.m : d.k, d.transpose_a ? d.k : d.m, &gemm_batch::step_a);
    layout(layout_c_, n.result, d.n, d.m, &gemm_batch::step_c);

    const std::vector<std::int64_t> key = key_of(d, tf32);
    const std::lock_guard lock(shared.guard);
    if (shared.choices.size() >= lt_state::most_choices) shared.choices.clear();
    auto [at, is_new] = shared.choices.try_emplace(key);
    try {
        if (is_new)
            if (const auto well_aligned = find(best_alignment, on.capability))
                if (const auto any = find(alignment, on.capability)) at->second = algorithms{*well_aligned, *any};
    } catch (...) {
        shared.choices.erase(at);
        throw;
    }
    found_ = at->second;
}

void lt_product::point_at(const void* vector, const void* matrix, const void* scale_a, const void* scale_b) {
    const auto set = [&](cublasLtMatmulDescAttributes_t which, const void* address) {
        check(lt_functions()->cublasLtMatmulDescSetAttribute(operation_.get(), which, &address, sizeof address),
              "cublasLtMatmulDescSetAttribute", asked_);
    };
    if (has_vector()) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
    if (has_matrix()) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, matrix);
    if (!d_.float8) return;
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale_b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale_a);
}

std::optional<lt_product::algorithm> lt_product::find(std::size_t operands, int capability) {
    const functions& f = *lt_functions();
    cublasLtMatmulPreference_t made = nullptr;
    check(f.cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate", asked_);
    const lt::owned<cublasLtMatmulPreference_t> preference(made);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
        check(f.cublasLtMatmulPreferenceSetAttribute(made, which, &value, sizeof value),
              "cublasLtMatmulPreferenceSetAttribute", asked_);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{capability >= 90 ? 32u : 4u} << 20);
    // Parts of a sum are never rounded to 16 bits. All other results are of the type that is computed in.
    if (size_of(d_.element) == 2)
        prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    const auto all = [&](std::int64_t gemm_batch::*step, std::size_t bytes) {
        return alignment_of(operands, d_, batched_, step, bytes);
    };
    const std::uint32_t align_c = all(&gemm_batch::step_c, size_of(result_of(d_.element)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, all(&gemm_batch::step_b, operand_bytes(d_)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, all(&gemm_batch::step_a, operand_bytes(d_)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, align_c);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_c);
    if (has_addresses()) { // of the addresses that will come the library looks at the alignment now
        const auto* const somewhere = reinterpret_cast<const void*>(operands);
        point_at(somewhere, somewhere, somewhere, somewhere);
    }
    cublasLtMatmulHeuristicResult_t result{};
    int count = 0;
    const cublasStatus_t answer =
        f.cublasLtMatmulAlgoGetHeuristic(handle_, operation_.get(), layout_b_.get(), layout_a_.get(), layout_c_.get(),
                                         layout_c_.get(), made, 1, &result, &count);
    if (answer == CUBLAS_STATUS_INVALID_VALUE || answer == CUBLAS_STATUS_ARCH_MISMATCH)
        std::fprintf(stderr, "tenon: cuBLASLt cannot make %s (%s); Tenon's own kernel does, which is slower\n",
                     asked_.c_str(), f.cublasLtGetStatusString(answer));
    else if (answer != CUBLAS_STATUS_NOT_SUPPORTED) check(answer, "cublasLtMatmulAlgoGetHeuristic", asked_);
    if (answer != CUBLAS_STATUS_SUCCESS || count == 0 || result.state != CUBLAS_STATUS_SUCCESS) return {};
    return algorithm{result.algo, result.workspaceSize};
}

bool lt_product::run(const void* a, const void* b, const void* added, void* c, void* beside, std::byte* workspace,
                     void* stream, const float* scales) {
    const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    const auto bits = address(a) | address(b) | address(c) | address(beside) |
                      (d_.bias || d_.addend || d_.gelu_gradient ? address(added) : 0);
    if (bits % alignment != 0) return false;
    const algorithm& by = bits % best_alignment == 0 ? found_->well_aligned : found_->any;
    const functions& f = *lt_functions();
    std::unique_lock<std::mutex> lock(guard_, std::defer_lock);
    if (has_addresses()) {
        lock.lock();
        point_at(d_.bias ? added : beside, d_.gelu_gradient ? added : beside, scales, scales ? scales + 1 : nullptr);
    }
    const factor of_product(d_.factor), of_addend(d_.addend ? 1 : 0);
    const std::size_t bytes = operand_bytes(d_), bytes_c = size_of(result_of(d_.element));
    std::array<std::int64_t, std::size(gemm_description{}.batch)> at{};
    for (;;) {
        std::int64_t from_a = 0, from_b = 0, to = 0;
        for (int i = 0; i < d_.dimensions; ++i) {
            const std::int64_t index = at[static_cast<std::size_t>(i)];
            from_a += index * d_.batch[i].step_a;
            from_b += index * d_.batch[i].step_b;
            to += index * d_.batch[i].step_c;
        }
        const auto in = [bytes](const void* p, std::int64_t element) {
            return static_cast<const std::byte*>(p) + static_cast<std::size_t>(element) * bytes;
        };
        const std::size_t at_c = static_cast<std::size_t>(to) * bytes_c;
        void* const result = static_cast<std::byte*>(c) + at_c;
        const void* const addend = d_.addend ? static_cast<const std::byte*>(added) + at_c : result;
        check(f.cublasLtMatmul(handle_, operation_.get(), of_product.in(d_.element), in(b, from_b), layout_b_.get(),
                               in(a, from_a), layout_a_.get(), of_addend.in(d_.element), addend, layout_c_.get(),
                               result, layout_c_.get(), &by.native, workspace, by.workspace_bytes,
                               static_cast<cudaStream_t>(stream)),
              "cublasLtMatmul", asked_);
        int i = 0; // the next of those dimensions that the library does not go through
        for (; i < d_.dimensions; ++i) {
            if (i == batched_) continue;
            if (++at[static_cast<std::size_t>(i)] < d_.batch[i].size) break;
            at[static_cast<std::size_t>(i)] = 0;
        }
        if (i == d_.dimensions) return true;
    }
}

} // namespace tenon::cuda

#endif
