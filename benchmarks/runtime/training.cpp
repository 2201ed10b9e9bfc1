// Training steps of an MLP (PERFORMANCE P5) and of a convolutional network (P6) beside the same written by hand over
// oneDNN, on one thread and two. The losses of both sides, from the same weights, are compared first.

#include <cmath>
#include <cstring>
#include <optional>

#include "baseline/hand_conv.hpp"
#include "baseline/hand_mlp.hpp"
#include "models.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

template <int Batch> void copy_weights(models::mlp<Batch>& m, baseline::hand_mlp& h) {
    const auto [w1, b1, w2, b2, w3, b3] = m.session.run(m.w1, m.b1, m.w2, m.b2, m.w3, m.b3);
    const auto copy = [](float* to, const auto& from) {
        std::memcpy(to, from.data(), static_cast<std::size_t>(from.size()) * 4);
    };
    copy(h.weights(0), w1), copy(h.bias(0), b1);
    copy(h.weights(1), w2), copy(h.bias(1), b2);
    copy(h.weights(2), w3), copy(h.bias(2), b3);
}

template <int Batch, int Threads> void tenon_mlp(benchmark::State& state) {
    models::mlp<Batch> m(Threads);
    const models::random_batch<tn::shape<Batch, 784>, Batch> data;
    const auto step = m.session.callable(tn::feeds(m.x, m.y), tn::fetches(m.train, m.loss));
    step(data.images, data.labels); // makes the plan
    for (auto _ : state) benchmark::DoNotOptimize(step(data.images, data.labels));
}

template <int Batch, int Threads> void hand_mlp(benchmark::State& state) {
    if (!baseline::has_onednn()) return state.SkipWithError("the hand-written side needs oneDNN");
    models::mlp<Batch> m(Threads);
    baseline::hand_mlp h(Batch, Threads, static_cast<float>(m.rate));
    copy_weights(m, h);
    const models::random_batch<tn::shape<Batch, 784>, Batch> data;
    const auto step = m.session.callable(tn::feeds(m.x, m.y), tn::fetches(m.train, m.loss));
    for (int i = 0; i < 20; ++i) {
        const auto [ours] = step(data.images, data.labels);
        const double theirs = h.step(data.images.data(), data.labels.data());
        if (std::abs(static_cast<double>(ours.item()) - theirs) > 1e-4 * std::abs(theirs))
            return state.SkipWithError("the two sides' losses differ");
    }
    for (auto _ : state) benchmark::DoNotOptimize(h.step(data.images.data(), data.labels.data()));
}

template <int Threads> void tenon_conv(benchmark::State& state) {
    models::conv<64> m(Threads);
    const models::random_batch<tn::shape<64, 28, 28, 1>, 64> data;
    const auto step = m.session.callable(tn::feeds(m.x, m.y), tn::fetches(m.train, m.loss));
    step(data.images, data.labels); // makes the plan
    for (auto _ : state) benchmark::DoNotOptimize(step(data.images, data.labels));
}

template <int Threads> void hand_conv(benchmark::State& state) {
    if (!baseline::has_onednn()) return state.SkipWithError("the hand-written side needs oneDNN");
    models::conv<64> m(Threads);
    baseline::hand_conv h(64, Threads, static_cast<float>(m.rate));
    const auto copy = [](float* to, const auto& from) {
        std::memcpy(to, from.data(), static_cast<std::size_t>(from.size()) * 4);
    };
    const auto [w1, b1, w2, b2, w3, b3, w4, b4] = m.session.run(m.w1, m.b1, m.w2, m.b2, m.w3, m.b3, m.w4, m.b4);
    copy(h.weights(0), w1), copy(h.bias(0), b1);
    copy(h.weights(1), w2), copy(h.bias(1), b2);
    copy(h.weights(2), w3), copy(h.bias(2), b3);
    copy(h.weights(3), w4), copy(h.bias(3), b4);
    const models::random_batch<tn::shape<64, 28, 28, 1>, 64> data;
    const auto step = m.session.callable(tn::feeds(m.x, m.y), tn::fetches(m.train, m.loss));
    for (int i = 0; i < 5; ++i) {
        const auto [ours] = step(data.images, data.labels);
        const double theirs = h.step(data.images.data(), data.labels.data());
        if (std::abs(static_cast<double>(ours.item()) - theirs) > 1e-3 * std::abs(theirs))
            return state.SkipWithError("the two sides' losses differ");
    }
    for (auto _ : state) benchmark::DoNotOptimize(h.step(data.images.data(), data.labels.data()));
}

} // namespace

int main(int argc, char** argv) {
    benchmark::RegisterBenchmark("tenon_50_1", tenon_mlp<50, 1>);
    benchmark::RegisterBenchmark("hand_50_1", hand_mlp<50, 1>);
    benchmark::RegisterBenchmark("tenon_50_2", tenon_mlp<50, 2>)->UseRealTime();
    benchmark::RegisterBenchmark("hand_50_2", hand_mlp<50, 2>)->UseRealTime();
    benchmark::RegisterBenchmark("tenon_128_1", tenon_mlp<128, 1>);
    benchmark::RegisterBenchmark("hand_128_1", hand_mlp<128, 1>);
    benchmark::RegisterBenchmark("tenon_128_2", tenon_mlp<128, 2>)->UseRealTime();
    benchmark::RegisterBenchmark("hand_128_2", hand_mlp<128, 2>)->UseRealTime();
    benchmark::RegisterBenchmark("tenon_conv_1", tenon_conv<1>);
    benchmark::RegisterBenchmark("hand_conv_1", hand_conv<1>);
    benchmark::RegisterBenchmark("tenon_conv_2", tenon_conv<2>)->UseRealTime();
    benchmark::RegisterBenchmark("hand_conv_2", hand_conv<2>)->UseRealTime();
    return ratio::run(argc, argv,
                      {{"P5 MLP step, batch 50, one thread / by hand", "tenon_50_1", "hand_50_1", 1, 1e3, "us"},
                       {"P5 MLP step, batch 50, two threads", "tenon_50_2", "hand_50_2", 1, 1e3, "us"},
                       {"P5 MLP step, batch 128, one thread", "tenon_128_1", "hand_128_1", 1, 1e3, "us"},
                       {"P5 MLP step, batch 128, two threads", "tenon_128_2", "hand_128_2", 1, 1e3, "us"},
                       {"P6 convolutional step, batch 64, one thread", "tenon_conv_1", "hand_conv_1", 1, 1e6, "ms"},
                       {"P6 convolutional step, batch 64, two threads", "tenon_conv_2", "hand_conv_2", 1, 1e6, "ms"}});
}
