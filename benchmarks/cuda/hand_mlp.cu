#include "cuda/hand_layers.hpp"
#include "cuda/hand_training.hpp"

namespace baseline {

namespace {
struct lt_handle {
    cublasLtHandle_t handle{};
    lt_handle() { check(cublasLtCreate(&handle)); }
    ~lt_handle() { cublasLtDestroy(handle); }
};
} // namespace

struct hand_gpu_mlp::state : hand_step {
    state(int batch, float rate) :
        hand_step(batch),
        first(lt.handle, batch, 784, 300, true, true),
        second(lt.handle, batch, 300, 100, true, false),
        third(lt.handle, batch, 100, 10, false, false) {
        record([&](cudaStream_t s, void* w) {
            first.forward(images.as<float>(), w, s);
            second.forward(first.output(), w, s);
            third.forward(second.output(), w, s);
            softmax_cross_entropy(third.output(), labels.as<std::int32_t>(), gradient.as<float>(), loss.as<float>(),
                                  batch, 10, s);
            third.backward(second.output(), gradient.as<float>(), rate, w, s);
            second.backward(first.output(), third.input_gradient(), rate, w, s);
            first.backward(images.as<float>(), second.input_gradient(), rate, w, s);
        });
    }

    lt_handle lt;
    dense_layer first, second, third;
};

hand_gpu_mlp::hand_gpu_mlp(int batch, float rate) : state_(std::make_unique<state>(batch, rate)) {}
hand_gpu_mlp::~hand_gpu_mlp() = default;
float hand_gpu_mlp::step(const float* images, const std::int32_t* labels) { return state_->run(images, labels); }

} // namespace baseline
