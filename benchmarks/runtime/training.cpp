// Training steps of an MLP (PERFORMANCE P5) and of a convolutional network (P6) beside the same written by hand over
// oneDNN, on one thread and two. The losses of both sides, from the same weights, are compared first.

#include <cmath>
#include <cstring>

#include "baseline/hand_conv.hpp"
#include "baseline/hand_mlp.hpp"
#include "models.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

template <class Model, int Threads> void tenon_step(benchmark::State& state) {
    Model m(Threads);
    const typename Model::batch data;
    const auto step = m.step();
    step(data.images, data.labels); // makes the plan
    for (auto _ : state) benchmark::DoNotOptimize(step(data.images, data.labels));
}

template <class Model, class Hand, int Threads> void hand_step(benchmark::State& state) {
    if (!baseline::has_onednn()) return state.SkipWithError("the hand-written side needs oneDNN");
    Model m(Threads);
    const typename Model::batch data;
    Hand h(data.labels.size(), Threads, static_cast<float>(m.rate));
    const std::vector<tn::any_array> values = m.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
        const int layer = static_cast<int>(i / 2);
        std::memcpy(i % 2 ? h.bias(layer) : h.weights(layer), values[i].data(), values[i].bytes());
    }
    const auto step = m.step();
    for (int i = 0; i < 20; ++i) {
        const auto [ours] = step(data.images, data.labels);
        const double theirs = h.step(data.images.data(), data.labels.data());
        if (std::abs(static_cast<double>(ours.item()) - theirs) > 1e-3 * std::abs(theirs))
            return state.SkipWithError("the two sides' losses differ");
    }
    for (auto _ : state) benchmark::DoNotOptimize(h.step(data.images.data(), data.labels.data()));
}

} // namespace

int main(int argc, char** argv) {
    std::vector<ratio::row> rows;
    const auto add = [&](const std::string& title, auto ours, auto theirs, double per, const char* unit) {
        benchmark::RegisterBenchmark((title + ": Tenon").c_str(), ours)->UseRealTime();
        benchmark::RegisterBenchmark((title + ": by hand").c_str(), theirs)->UseRealTime();
        rows.push_back({title, title + ": Tenon", title + ": by hand", 1, per, unit});
    };
    using models::mlp, models::conv, baseline::hand_mlp, baseline::hand_conv;
    add("P5 MLP step, batch 50, one thread", tenon_step<mlp<50>, 1>, hand_step<mlp<50>, hand_mlp, 1>, 1e3, "us");
    add("P5 MLP step, batch 50, two threads", tenon_step<mlp<50>, 2>, hand_step<mlp<50>, hand_mlp, 2>, 1e3, "us");
    add("P5 MLP step, batch 128, one thread", tenon_step<mlp<128>, 1>, hand_step<mlp<128>, hand_mlp, 1>, 1e3, "us");
    add("P5 MLP step, batch 128, two threads", tenon_step<mlp<128>, 2>, hand_step<mlp<128>, hand_mlp, 2>, 1e3, "us");
    add("P6 convolutional step, batch 64, one thread", tenon_step<conv<64>, 1>, hand_step<conv<64>, hand_conv, 1>, 1e6,
        "ms");
    add("P6 convolutional step, batch 64, two threads", tenon_step<conv<64>, 2>, hand_step<conv<64>, hand_conv, 2>, 1e6,
        "ms");
    return ratio::run(argc, argv, rows);
}
