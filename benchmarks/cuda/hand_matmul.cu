#include "cuda/hand_matmul.hpp"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

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

float read(const gpu::buffer& from, bool small, std::int64_t at) {
    const std::size_t each = small ? 2 : 4;
    char bytes[4] = {};
    gpu::check(cudaMemcpy(bytes, from.as<char>() + static_cast<std::size_t>(at) * each, each, cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    if (small) return __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(bytes));
    return *reinterpret_cast<const float*>(bytes);
}

} // namespace

struct hand_matmul::parts {
    parts(numbers n, std::int64_t size, int products) :
        small(n == numbers::bfloat16),
        bytes(static_cast<std::size_t>(size) * static_cast<std::size_t>(size) * (small ? 2 : 4)),
        b(bytes),
        workspace(workspace_bytes) {
        // As in the other side's variables: what is multiplied decides what power it takes.
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        std::vector<char> host(bytes);
        const auto fill = [&](const gpu::buffer& to) {
            for (std::size_t i = 0; i < bytes / (small ? 2 : 4); ++i)
                if (small) reinterpret_cast<__nv_bfloat16*>(host.data())[i] = __float2bfloat16(normal(random));
                else reinterpret_cast<float*>(host.data())[i] = normal(random);
            gpu::check(cudaMemcpy(to.data(), host.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        };
        fill(b);
        for (int i = 0; i < products; ++i) {
            fill(a.emplace_back(bytes));
            c.emplace_back(bytes);
        }
        check(cublasLtCreate(&handle), "cublasLtCreate");
        check(cublasLtMatmulDescCreate(
                  &operation, n == numbers::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
              "cublasLtMatmulDescCreate");
        const auto order = static_cast<std::uint64_t>(size);
        check(cublasLtMatrixLayoutCreate(&layout, small ? CUDA_R_16BF : CUDA_R_32F, order, order, size),
              "cublasLtMatrixLayoutCreate");
        cublasLtMatmulPreference_t preference{};
        check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
        check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                   &workspace_bytes, sizeof workspace_bytes),
              "cublasLtMatmulPreferenceSetAttribute");
        cublasLtMatmulHeuristicResult_t found{};
        int count = 0;
        check(cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout, layout, preference, 1, &found,
                                             &count),
              "cublasLtMatmulAlgoGetHeuristic");
        check(count > 0 ? found.state : CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
        check(cublasLtMatmulPreferenceDestroy(preference), "cublasLtMatmulPreferenceDestroy");
        const auto give = [&](cudaStream_t stream) {
            const float one = 1, none = 0;
            for (std::size_t i = 0; i < a.size(); ++i)
                check(cublasLtMatmul(handle, operation, &one, b.data(), layout, a[i].data(), layout, &none, c[i].data(),
                                     layout, c[i].data(), layout, &found.algo, workspace.data(), workspace_bytes,
                                     stream),
                      "cublasLtMatmul");
        };
        give(recorded.stream()); // what is loaded when it is first used is there then
        gpu::check(cudaStreamSynchronize(recorded.stream()), "cudaStreamSynchronize");
        recorded.record([&] { give(recorded.stream()); });
    }
    ~parts() {
        cublasLtMatrixLayoutDestroy(layout);
        cublasLtMatmulDescDestroy(operation);
        cublasLtDestroy(handle);
    }
    parts(const parts&) = delete;
    parts& operator=(const parts&) = delete;

    const bool small;
    const std::size_t bytes;
    const gpu::buffer b, workspace;
    std::deque<gpu::buffer> a, c;
    cublasLtHandle_t handle{};
    cublasLtMatmulDesc_t operation{};
    cublasLtMatrixLayout_t layout{};
    gpu::recorded recorded;
};

hand_matmul::hand_matmul(numbers n, std::int64_t size, int products) :
    parts_(std::make_unique<parts>(n, size, products)) {}
hand_matmul::~hand_matmul() = default;
void hand_matmul::run() { parts_->recorded.run(); }
float hand_matmul::a(int i, std::int64_t at) const {
    return read(parts_->a[static_cast<std::size_t>(i)], parts_->small, at);
}
float hand_matmul::b(std::int64_t at) const { return read(parts_->b, parts_->small, at); }
float hand_matmul::c(int i, std::int64_t at) const {
    return read(parts_->c[static_cast<std::size_t>(i)], parts_->small, at);
}

} // namespace baseline
