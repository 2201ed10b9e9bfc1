#include <cudnn.h>

#include "cuda/hand_layers.hpp"
#include "cuda/hand_training.hpp"

namespace baseline {

namespace {

void check(cudnnStatus_t answer) {
    if (answer == CUDNN_STATUS_SUCCESS) return;
    std::fprintf(stderr, "cuDNN: %s\n", cudnnGetErrorString(answer));
    std::exit(1);
}

struct tensor {
    cudnnTensorDescriptor_t as{};
    tensor(int n, int h, int w, int c) {
        check(cudnnCreateTensorDescriptor(&as));
        check(cudnnSetTensor4dDescriptor(as, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, n, c, h, w));
    }
    ~tensor() { cudnnDestroyTensorDescriptor(as); }
};

// 5x5 convolution with same padding, bias and relu, then the largest of 2x2; filters [out, 5, 5, in].
class layer {
public:
    layer(cudnnHandle_t handle, int n, int size, int in, int out, bool is_first) :
        handle_(handle),
        x_(n, size, size, in),
        y_(n, size, size, out),
        pooled_(n, size / 2, size / 2, out),
        b_(1, 1, 1, out),
        pixels_(static_cast<std::int64_t>(n) * size * size),
        in_(in),
        out_(out),
        filter_(static_cast<std::size_t>(out) * 25 * static_cast<std::size_t>(in) * sizeof(float)),
        filter_gradient_(filter_.bytes()),
        bias_(static_cast<std::size_t>(out) * sizeof(float)),
        activated_(static_cast<std::size_t>(pixels_) * static_cast<std::size_t>(out) * sizeof(float)),
        activated_gradient_(activated_.bytes()),
        result_(activated_.bytes() / 4),
        input_gradient_(is_first ? nullptr
                                 : std::make_unique<gpu::buffer>(static_cast<std::size_t>(pixels_) *
                                                                 static_cast<std::size_t>(in) * sizeof(float))) {
        check(cudnnCreateFilterDescriptor(&f_));
        check(cudnnSetFilter4dDescriptor(f_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, out, in, 5, 5));
        check(cudnnCreateConvolutionDescriptor(&c_));
        check(cudnnSetConvolution2dDescriptor(c_, 2, 2, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
        check(cudnnSetConvolutionMathType(c_, CUDNN_FMA_MATH));
        check(cudnnCreateActivationDescriptor(&a_));
        check(cudnnSetActivationDescriptor(a_, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
        check(cudnnCreatePoolingDescriptor(&p_));
        check(cudnnSetPooling2dDescriptor(p_, CUDNN_POOLING_MAX_DETERMINISTIC, CUDNN_NOT_PROPAGATE_NAN, 2, 2, 0, 0, 2,
                                          2));
        // The fastest of all, those included that add with atomics.
        int found = 0;
        std::size_t bytes = 0;
        const auto take = [&](const auto& fastest, auto& algorithm) {
            check(found > 0 ? fastest.status : CUDNN_STATUS_NOT_SUPPORTED);
            algorithm = fastest.algo;
            bytes = fastest.memory > bytes ? fastest.memory : bytes;
        };
        cudnnConvolutionFwdAlgoPerf_t forward{};
        check(cudnnFindConvolutionForwardAlgorithm(handle, x_.as, f_, c_, y_.as, 1, &found, &forward));
        take(forward, forward_);
        cudnnConvolutionBwdFilterAlgoPerf_t to_filter{};
        check(cudnnFindConvolutionBackwardFilterAlgorithm(handle, x_.as, y_.as, c_, f_, 1, &found, &to_filter));
        take(to_filter, to_filter_);
        if (!is_first) {
            cudnnConvolutionBwdDataAlgoPerf_t to_input{};
            check(cudnnFindConvolutionBackwardDataAlgorithm(handle, f_, y_.as, c_, x_.as, 1, &found, &to_input));
            take(to_input, to_input_);
        }
        workspace_ = std::make_unique<gpu::buffer>(bytes + 256);
        joins_ = join(activated_gradient_.as<float>()) == CUDNN_STATUS_SUCCESS; // any numbers do as images
        gpu::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }

    void forward(const float* x) const {
        const float one = 1, zero = 0;
        if (joins_) check(join(x));
        else {
            check(cudnnConvolutionForward(handle_, &one, x_.as, x, f_, filter_.data(), c_, forward_, workspace_->data(),
                                          workspace_->bytes(), &zero, y_.as, activated_.data()));
            check(cudnnAddTensor(handle_, &one, b_.as, bias_.data(), &one, y_.as, activated_.data()));
            check(cudnnActivationForward(handle_, a_, &one, y_.as, activated_.data(), &zero, y_.as, activated_.data()));
        }
        check(cudnnPoolingForward(handle_, p_, &one, y_.as, activated_.data(), &zero, pooled_.as, result_.data()));
    }
    void backward(const float* x, const float* gradient, float rate, cudaStream_t s) const {
        const float one = 1, zero = 0;
        float* const g = activated_gradient_.as<float>();
        check(cudnnPoolingBackward(handle_, p_, &one, pooled_.as, result_.data(), pooled_.as, gradient, y_.as,
                                   activated_.data(), &zero, y_.as, g));
        relu_gradient(activated_.as<float>(), g, pixels_ * out_, s);
        if (input_gradient_)
            check(cudnnConvolutionBackwardData(handle_, &one, f_, filter_.data(), y_.as, g, c_, to_input_,
                                               workspace_->data(), workspace_->bytes(), &zero, x_.as,
                                               input_gradient_->data()));
        check(cudnnConvolutionBackwardFilter(handle_, &one, x_.as, x, y_.as, g, c_, to_filter_, workspace_->data(),
                                             workspace_->bytes(), &zero, f_, filter_gradient_.data()));
        subtract(filter_.as<float>(), filter_gradient_.as<float>(), rate, static_cast<std::int64_t>(out_) * 25 * in_,
                 s);
        subtract_sums(g, bias_.as<float>(), rate, pixels_, out_, s);
    }
    float* output() const { return result_.as<float>(); }
    float* input_gradient() const { return input_gradient_->as<float>(); }

private:
    // Convolution, bias and relu in one call, which not every algorithm has.
    cudnnStatus_t join(const float* x) const {
        const float one = 1, zero = 0;
        return cudnnConvolutionBiasActivationForward(
            handle_, &one, x_.as, x, f_, filter_.data(), c_, forward_, workspace_->data(), workspace_->bytes(), &zero,
            y_.as, activated_.data(), b_.as, bias_.data(), a_, y_.as, activated_.data());
    }

    cudnnHandle_t handle_;
    tensor x_, y_, pooled_, b_;
    std::int64_t pixels_;
    int in_, out_;
    gpu::buffer filter_, filter_gradient_, bias_, activated_, activated_gradient_, result_;
    std::unique_ptr<gpu::buffer> input_gradient_, workspace_;
    cudnnFilterDescriptor_t f_{};
    cudnnConvolutionDescriptor_t c_{};
    cudnnActivationDescriptor_t a_{};
    cudnnPoolingDescriptor_t p_{};
    cudnnConvolutionFwdAlgo_t forward_{};
    cudnnConvolutionBwdDataAlgo_t to_input_{};
    cudnnConvolutionBwdFilterAlgo_t to_filter_{};
    bool joins_ = false;
};

struct handles {
    cublasLtHandle_t lt{};
    cudnnHandle_t dnn{};
    explicit handles(cudaStream_t s) {
        baseline::check(cublasLtCreate(&lt));
        check(cudnnCreate(&dnn));
        check(cudnnSetStream(dnn, s));
    }
    ~handles() {
        cudnnDestroy(dnn);
        cublasLtDestroy(lt);
    }
};

} // namespace

struct hand_gpu_conv::state : hand_step {
    state(int batch, float rate) :
        hand_step(batch),
        libraries(graph.stream()),
        first(libraries.dnn, batch, 28, 1, 32, true),
        second(libraries.dnn, batch, 14, 32, 64, false),
        third(libraries.lt, batch, 3136, 256, true, false),
        fourth(libraries.lt, batch, 256, 10, false, false) {
        record([&](cudaStream_t s, void* w) {
            first.forward(images.as<float>());
            second.forward(first.output());
            third.forward(second.output(), w, s);
            fourth.forward(third.output(), w, s);
            softmax_cross_entropy(fourth.output(), labels.as<std::int32_t>(), gradient.as<float>(), loss.as<float>(),
                                  batch, 10, s);
            fourth.backward(third.output(), gradient.as<float>(), rate, w, s);
            third.backward(second.output(), fourth.input_gradient(), rate, w, s);
            second.backward(first.output(), third.input_gradient(), rate, s);
            first.backward(images.as<float>(), second.input_gradient(), rate, s);
        });
    }

    handles libraries;
    layer first, second;
    dense_layer third, fourth;
};

hand_gpu_conv::hand_gpu_conv(int batch, float rate) : state_(std::make_unique<state>(batch, rate)) {}
hand_gpu_conv::~hand_gpu_conv() = default;
float hand_gpu_conv::step(const float* images, const std::int32_t* labels) { return state_->run(images, labels); }

} // namespace baseline
