#include "cuda/hand_matmul.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include <cublasLt.h>
#include <cuda_bf16.h>

#include "cuda/by_hand.hpp"

namespace baseline {

namespace {

void check(cublasStatus_t answer, const char* call) {
    if (answer == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s: %s\n", call, cublasLtGetStatusString(answer));
    std::exit(1);
}

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

std::size_t bytes_of(cudaDataType_t type) { return type == CUDA_R_8I ? 1 : type == CUDA_R_16BF ? 2 : 4; }

float read(const gpu::buffer& from, cudaDataType_t type, std::int64_t at) {
    const std::size_t each = bytes_of(type);
    alignas(4) char bytes[4] = {};
    gpu::check(cudaMemcpy(bytes, from.as<char>() + static_cast<std::size_t>(at) * each, each, cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    switch (type) {
    case CUDA_R_8I: return static_cast<float>(*reinterpret_cast<const std::int8_t*>(bytes));
    case CUDA_R_16BF: return __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(bytes));
    case CUDA_R_32I: return static_cast<float>(*reinterpret_cast<const std::int32_t*>(bytes));
    default: return *reinterpret_cast<const float*>(bytes);
    }
}

void write(std::vector<char>& to, cudaDataType_t type, std::size_t at, float x) {
    switch (type) {
    case CUDA_R_8I: reinterpret_cast<std::int8_t*>(to.data())[at] = static_cast<std::int8_t>(x); break;
    case CUDA_R_16BF: reinterpret_cast<__nv_bfloat16*>(to.data())[at] = __float2bfloat16(x); break;
    default: reinterpret_cast<float*>(to.data())[at] = x;
    }
}

} // namespace

struct hand_matmul::parts {
    parts(numbers n, std::int64_t size, int products) :
        type(n == numbers::int8       ? CUDA_R_8I
             : n == numbers::bfloat16 ? CUDA_R_16BF
                                      : CUDA_R_32F),
        type_of_c(n == numbers::int8 ? CUDA_R_32I : type),
        elements(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)),
        b(elements * bytes_of(type)),
        workspace(workspace_bytes) {
        // As in the other side's variables: what is multiplied decides what power it takes. Each matrix has the same random
        // numbers from another place on, a prime number of them over and over.
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        std::uniform_int_distribution<int> whole(-127, 127);
        constexpr std::size_t period = 1000003;
        const std::size_t each = bytes_of(type), in_all = elements + static_cast<std::size_t>(products);
        std::vector<char> host(in_all * each);
        for (std::size_t i = 0; i < std::min(period, in_all); ++i)
            write(host, type, i, type == CUDA_R_8I ? static_cast<float>(whole(random)) : normal(random));
        for (std::size_t i = period; i < in_all; i += period)
            std::memcpy(&host[i * each], host.data(), std::min(period, in_all - i) * each);
        const auto fill = [&](const gpu::buffer& to, std::size_t from) {
            gpu::check(cudaMemcpy(to.data(), &host[from * each], elements * each, cudaMemcpyHostToDevice),
                       "cudaMemcpy");
        };
        fill(b, 0);
        for (int i = 0; i < products; ++i) {
            fill(a.emplace_back(elements * each), static_cast<std::size_t>(i) + 1);
            c.emplace_back(elements * bytes_of(type_of_c));
        }
        check(cublasLtCreate(&handle), "cublasLtCreate");
        const bool whole_numbers = n == numbers::int8;
        check(cublasLtMatmulDescCreate(&operation,
                                       whole_numbers        ? CUBLAS_COMPUTE_32I
                                       : n == numbers::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                            : CUBLAS_COMPUTE_32F,
                                       whole_numbers ? CUDA_R_32I : CUDA_R_32F),
              "cublasLtMatmulDescCreate");
        const std::int32_t transposed = CUBLAS_OP_T;
        if (whole_numbers)
            check(
                cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
                "cublasLtMatmulDescSetAttribute");
        const auto order = static_cast<std::uint64_t>(size);
        check(cublasLtMatrixLayoutCreate(&layout, type, order, order, size), "cublasLtMatrixLayoutCreate");
        check(cublasLtMatrixLayoutCreate(&layout_of_c, type_of_c, order, order, size), "cublasLtMatrixLayoutCreate");
        cublasLtMatmulPreference_t preference{};
        check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
        check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                   &workspace_bytes, sizeof workspace_bytes),
              "cublasLtMatmulPreferenceSetAttribute");
        // The same numbers as on the other side: parts of a sum are not rounded to 16 bits.
        const std::uint32_t in_float = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
        if (n == numbers::bfloat16)
            check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                       &in_float, sizeof in_float),
                  "cublasLtMatmulPreferenceSetAttribute");
        cublasLtMatmulHeuristicResult_t found{};
        int count = 0;
        check(cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout_of_c, layout_of_c, preference, 1,
                                             &found, &count),
              "cublasLtMatmulAlgoGetHeuristic");
        check(count > 0 ? found.state : CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
        check(cublasLtMatmulPreferenceDestroy(preference), "cublasLtMatmulPreferenceDestroy");
        const auto give = [&](cudaStream_t stream) {
            const float one = 1, none = 0;
            const std::int32_t one_whole = 1, none_whole = 0;
            const void* const alpha = whole_numbers ? static_cast<const void*>(&one_whole) : &one;
            const void* const beta = whole_numbers ? static_cast<const void*>(&none_whole) : &none;
            for (std::size_t i = 0; i < a.size(); ++i)
                check(cublasLtMatmul(handle, operation, alpha, b.data(), layout, a[i].data(), layout, beta, c[i].data(),
                                     layout_of_c, c[i].data(), layout_of_c, &found.algo, workspace.data(),
                                     workspace_bytes, stream),
                      "cublasLtMatmul");
        };
        recorded.record([&] { give(recorded.stream()); });
    }
    ~parts() {
        cublasLtMatrixLayoutDestroy(layout_of_c);
        cublasLtMatrixLayoutDestroy(layout);
        cublasLtMatmulDescDestroy(operation);
        cublasLtDestroy(handle);
    }
    parts(parts&&) = delete;

    const cudaDataType_t type, type_of_c;
    const std::size_t elements;
    const gpu::buffer b, workspace;
    std::deque<gpu::buffer> a, c;
    cublasLtHandle_t handle{};
    cublasLtMatmulDesc_t operation{};
    cublasLtMatrixLayout_t layout{}, layout_of_c{};
    gpu::recorded recorded;
};

hand_matmul::hand_matmul(numbers n, std::int64_t size, int products) :
    parts_(std::make_unique<parts>(n, size, products)) {}
hand_matmul::~hand_matmul() = default;
void hand_matmul::run() { parts_->recorded.run(); }
float hand_matmul::a(int i, std::int64_t at) const {
    return read(parts_->a[static_cast<std::size_t>(i)], parts_->type, at);
}
float hand_matmul::b(std::int64_t at) const { return read(parts_->b, parts_->type, at); }
float hand_matmul::c(int i, std::int64_t at) const {
    return read(parts_->c[static_cast<std::size_t>(i)], parts_->type_of_c, at);
}

} // namespace baseline
