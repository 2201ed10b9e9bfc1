#include "baseline/hand_mlp.hpp"

#include <stdexcept>
#include <vector>

#include "baseline/loops.hpp"
#include "baseline/onednn_support.hpp"
#include "baseline/team.hpp"

namespace baseline {

#if BASELINE_ONEDNN

bool has_onednn() { return true; }

namespace {

/// One thread's share of the step.
struct worker {
    std::int64_t begin = 0; // its rows of the batch
    std::int64_t end = 0;
    dnnl::stream stream;
    std::vector<bound_primitive> forward;  // one a layer
    std::vector<bound_primitive> backward; // layer l's input gradient, for l = layers - 1 .. 1
    std::vector<bound_primitive> update;   // one a layer
    std::vector<float> bias_sums[hand_mlp::layers];
    double loss = 0.0;
};

} // namespace

struct hand_mlp::state {
    state(std::int64_t b, int threads, float r) :
        batch(b),
        rate(r),
        engine(dnnl::engine::kind::cpu, 0),
        workers(static_cast<std::size_t>(threads)),
        all(threads) {
        images.resize(static_cast<std::size_t>(batch * sizes[0]));
        for (int l = 0; l < layers; ++l) {
            weights[l].resize(static_cast<std::size_t>(sizes[l] * sizes[l + 1]));
            bias[l].resize(static_cast<std::size_t>(sizes[l + 1]));
            out[l].resize(static_cast<std::size_t>(batch * sizes[l + 1]));
            grad[l].resize(out[l].size());
        }
        all.run([&](int t) { prepare(t); }); // primitives are made by the thread that runs them
    }

    float* input(int layer) { return layer == 0 ? images.data() : out[layer - 1].data(); }

    void prepare(int t) {
        use_one_openmp_thread();
        worker& w = workers[static_cast<std::size_t>(t)];
        w.begin = batch * t / all.size();
        w.end = batch * (t + 1) / all.size();
        w.stream = dnnl::stream(engine);
        const std::int64_t rows = w.end - w.begin;
        const auto mine = [&](std::vector<float>& of, std::int64_t columns) {
            return dense_matrix(of.data() + w.begin * columns, rows, columns);
        };
        for (int l = 0; l < layers; ++l) {
            const std::int64_t in = sizes[l];
            const std::int64_t n = sizes[l + 1];
            const auto weight = dense_matrix(weights[l].data(), in, n);
            w.bias_sums[l].resize(static_cast<std::size_t>(n));
            w.forward.push_back(make_product(engine, dense_matrix(input(l) + w.begin * in, rows, in), weight,
                                             mine(out[l], n), bias[l].data(),
                                             l + 1 < layers ? after_product::bias_relu : after_product::bias));
            const int b = static_cast<int>(layers) - 1 - l;
            if (b > 0) {
                w.backward.push_back(make_product(engine, mine(grad[b], sizes[b + 1]),
                                                  dense_matrix(weights[b].data(), sizes[b], sizes[b + 1]).transposed(),
                                                  mine(grad[b - 1], sizes[b]), nullptr, after_product::nothing));
            }
            const std::int64_t first = in * t / all.size();
            const std::int64_t last = in * (t + 1) / all.size();
            const matrix columns{input(l) + first, last - first, batch, 1, in};
            w.update.push_back(make_scaled_update(engine, columns, dense_matrix(grad[l].data(), batch, n),
                                                  dense_matrix(weights[l].data() + first * n, last - first, n), -rate));
        }
    }

    double run(const float* x, const std::int32_t* labels, bool train) {
        all.run([&](int t) {
            worker& w = workers[static_cast<std::size_t>(t)];
            const std::int64_t rows = w.end - w.begin;
            w.forward[0].operands.at(DNNL_ARG_SRC).set_data_handle(const_cast<float*>(x) + w.begin * sizes[0]);
            for (const auto& product : w.forward) product.run(w.stream);
            w.loss = softmax_cross_entropy(out[2].data() + w.begin * 10, labels + w.begin,
                                           grad[2].data() + w.begin * 10, rows, batch);
            if (!train) return;
            for (int l = layers - 1; l > 0; --l) {
                w.backward[static_cast<std::size_t>(layers - 1 - l)].run(w.stream);
                relu_backward(out[l - 1].data() + w.begin * sizes[l], grad[l - 1].data() + w.begin * sizes[l],
                              rows * sizes[l]);
            }
            for (int l = 0; l < layers; ++l) {
                sum_rows(grad[l].data() + w.begin * sizes[l + 1], rows, sizes[l + 1], w.bias_sums[l].data());
            }
            all.barrier();
            w.update[0].operands.at(DNNL_ARG_SRC).set_data_handle(const_cast<float*>(x) + sizes[0] * t / all.size());
            for (const auto& product : w.update) product.run(w.stream);
            if (t != 0) return;
            for (const worker& each : workers) {
                for (int l = 0; l < layers; ++l) descend(bias[l].data(), each.bias_sums[l].data(), rate, sizes[l + 1]);
            }
        });
        double sum = 0.0;
        for (const worker& w : workers) sum += w.loss;
        return sum / static_cast<double>(batch);
    }

    std::int64_t batch;
    float rate;
    dnnl::engine engine;
    std::vector<worker> workers;
    std::vector<float> images; // only to give the primitives an address of the right kind
    std::vector<float> weights[layers];
    std::vector<float> bias[layers];
    std::vector<float> out[layers];
    std::vector<float> grad[layers];
    team all;
};

hand_mlp::hand_mlp(std::int64_t batch, int threads, float rate) :
    state_(std::make_unique<state>(batch, threads, rate)) {}
hand_mlp::~hand_mlp() = default;
float* hand_mlp::weights(int layer) { return state_->weights[layer].data(); }
float* hand_mlp::bias(int layer) { return state_->bias[layer].data(); }
double hand_mlp::step(const float* images, const std::int32_t* labels) { return state_->run(images, labels, true); }
double hand_mlp::loss(const float* images, const std::int32_t* labels) { return state_->run(images, labels, false); }

#else

bool has_onednn() { return false; }

struct hand_mlp::state {};
hand_mlp::hand_mlp(std::int64_t, int, float) {
    throw std::runtime_error("hand_mlp: built without oneDNN 2; ask has_onednn() first");
}
hand_mlp::~hand_mlp() = default;
float* hand_mlp::weights(int) { return nullptr; }
float* hand_mlp::bias(int) { return nullptr; }
double hand_mlp::step(const float*, const std::int32_t*) { return 0.0; }
double hand_mlp::loss(const float*, const std::int32_t*) { return 0.0; }

#endif

} // namespace baseline
