#include "cuda/hand_layers.hpp"

namespace baseline {

namespace {

unsigned blocks_of(std::int64_t n) { return static_cast<unsigned>((n + 255) / 256); }

// A block a row: few classes.
__global__ void cross_entropy(const float* logits, const std::int32_t* labels, float* gradient, float* loss, int batch,
                              int classes) {
    const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= batch) return;
    const float* x = logits + static_cast<std::int64_t>(row) * classes;
    float most = x[0], sum = 0;
    for (int c = 1; c < classes; ++c) most = fmaxf(most, x[c]);
    for (int c = 0; c < classes; ++c) sum += expf(x[c] - most);
    const int label = labels[row];
    atomicAdd(loss, (logf(sum) + most - x[label]) / static_cast<float>(batch));
    for (int c = 0; c < classes; ++c)
        gradient[static_cast<std::int64_t>(row) * classes + c] =
            (expf(x[c] - most) / sum - (c == label ? 1.0F : 0.0F)) / static_cast<float>(batch);
}

__global__ void mask(const float* y, float* gradient, std::int64_t n) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n && !(y[i] > 0)) gradient[i] = 0;
}

// 32 columns by 8 rows of threads.
__global__ void column_sums(const float* gradient, float* bias, float rate, std::int64_t rows, int columns) {
    __shared__ float parts[8][33];
    const int column = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
    float sum = 0;
    if (column < columns)
        for (std::int64_t r = std::int64_t{blockIdx.y} * 8 + threadIdx.y; r < rows; r += std::int64_t{gridDim.y} * 8)
            sum += gradient[r * columns + column];
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || column >= columns) return;
    for (int k = 1; k < 8; ++k) sum += parts[k][threadIdx.x];
    atomicAdd(bias + column, -rate * sum);
}

__global__ void step_down(float* w, const float* g, float rate, std::int64_t n) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) w[i] -= rate * g[i];
}

} // namespace

product::product(cublasLtHandle_t handle, int m, int k, int n, bool ta, bool tb, const float* bias, bool relu,
                 bool adds) :
    handle_(handle), adds_(adds) {
    check(cublasLtMatmulDescCreate(&what_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    // The transposed product: b' a' = c', column-major n x m.
    const cublasOperation_t first = tb ? CUBLAS_OP_T : CUBLAS_OP_N, second = ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
    check(cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
    if (bias) {
        const cublasLtEpilogue_t then = relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
        check(cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_EPILOGUE, &then, sizeof then));
        check(cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    }
    const auto layout = [](cublasLtMatrixLayout_t& l, int rows, int columns) {
        check(cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), rows));
    };
    layout(a_, tb ? k : n, tb ? n : k);
    layout(b_, ta ? m : k, ta ? k : m);
    layout(c_, n, m);
    cublasLtMatmulPreference_t wish{};
    check(cublasLtMatmulPreferenceCreate(&wish));
    const std::size_t bytes = workspace_bytes;
    check(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, what_, a_, b_, c_, c_, wish, 1, &best, &found));
    check(cublasLtMatmulPreferenceDestroy(wish));
    if (found == 0) check(CUBLAS_STATUS_NOT_SUPPORTED);
    how_ = best.algo;
}

product::~product() {
    cublasLtMatrixLayoutDestroy(a_);
    cublasLtMatrixLayoutDestroy(b_);
    cublasLtMatrixLayoutDestroy(c_);
    cublasLtMatmulDescDestroy(what_);
}

void product::run(float alpha, const float* a, const float* b, float* c, void* workspace, cudaStream_t stream) const {
    const float beta = adds_ ? 1 : 0;
    check(cublasLtMatmul(handle_, what_, &alpha, b, a_, a, b_, &beta, c, c_, c, c_, &how_, workspace, workspace_bytes,
                         stream));
}

dense_layer::dense_layer(cublasLtHandle_t handle, int batch, int in, int out, bool relu, bool is_first) :
    batch_(batch),
    in_(in),
    out_(out),
    relu_(relu),
    w_(static_cast<std::size_t>(in) * static_cast<std::size_t>(out) * sizeof(float)),
    b_(static_cast<std::size_t>(out) * sizeof(float)),
    y_(static_cast<std::size_t>(batch) * static_cast<std::size_t>(out) * sizeof(float)),
    dx_(is_first ? nullptr
                 : std::make_unique<gpu::buffer>(static_cast<std::size_t>(batch) * static_cast<std::size_t>(in) *
                                                 sizeof(float))),
    forward_(handle, batch, in, out, false, false, b_.as<float>(), relu, false),
    to_input_(handle, batch, out, in, false, true, nullptr, false, false),
    to_weights_(handle, in, batch, out, true, false, nullptr, false, true) {}

void dense_layer::forward(const float* x, void* workspace, cudaStream_t s) const {
    forward_.run(1, x, w_.as<float>(), output(), workspace, s);
}

void dense_layer::backward(const float* x, float* gradient, float rate, void* workspace, cudaStream_t s) const {
    if (relu_) relu_gradient(output(), gradient, static_cast<std::int64_t>(batch_) * out_, s);
    if (dx_) to_input_.run(1, gradient, w_.as<float>(), input_gradient(), workspace, s);
    to_weights_.run(-rate, x, gradient, w_.as<float>(), workspace, s);
    subtract_sums(gradient, b_.as<float>(), rate, batch_, out_, s);
}

void softmax_cross_entropy(const float* logits, const std::int32_t* labels, float* gradient, float* loss, int batch,
                           int classes, cudaStream_t s) {
    gpu::check(cudaMemsetAsync(loss, 0, sizeof(float), s), "cudaMemsetAsync");
    cross_entropy<<<blocks_of(batch), 256, 0, s>>>(logits, labels, gradient, loss, batch, classes);
}
void relu_gradient(const float* y, float* gradient, std::int64_t n, cudaStream_t s) {
    mask<<<blocks_of(n), 256, 0, s>>>(y, gradient, n);
}
void subtract_sums(const float* gradient, float* bias, float rate, std::int64_t rows, int columns, cudaStream_t s) {
    const unsigned down = static_cast<unsigned>(rows < 8 * 64 ? 1 : rows / (8 * 64) > 64 ? 64 : rows / (8 * 64));
    column_sums<<<dim3(static_cast<unsigned>(columns + 31) / 32, down), dim3(32, 8), 0, s>>>(gradient, bias, rate, rows,
                                                                                             columns);
}
void subtract(float* w, const float* g, float rate, std::int64_t n, cudaStream_t s) {
    step_down<<<blocks_of(n), 256, 0, s>>>(w, g, rate, n);
}

} // namespace baseline
