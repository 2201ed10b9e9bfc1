// The training step of a transformer block of bfloat16, 8 x 1024 tokens, 1024 wide, 16 heads, on a GPU: beside nothing here
// (benchmarks/peers has PyTorch's). Values come from the host's memory in each step, and the loss goes back.

#include <benchmark/benchmark.h>

#include "cuda/gpu.hpp"
#include "transformer.hpp"

namespace {

using model = models::transformer<8, 1024, 1024, 16>;

void step(benchmark::State& state) {
    model m("/gpu:0");
    const auto step = m.session.callable(models::tn::feeds(m.x, m.wanted), models::tn::fetches(m.train, m.loss));
    const auto x = model::values(1), wanted = model::values(2);
    for (int i = 0; i < 5; ++i) (void)step(x, wanted); // plans it, and records it
    for (auto _ : state) benchmark::DoNotOptimize(step(x, wanted));
    using benchmark::Counter;
    state.counters["tokens/s"] = Counter(8 * 1024, Counter::kIsIterationInvariantRate);
    state.counters["FLOP/s"] = Counter(model::operations, Counter::kIsIterationInvariantRate);
}

} // namespace

int main(int argc, char** argv) {
    if (!gpu::is_there()) return 77;
    benchmark::RegisterBenchmark("transformer block, 8 x 1024 x 1024, 16 heads, bfloat16", step)->UseRealTime();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
