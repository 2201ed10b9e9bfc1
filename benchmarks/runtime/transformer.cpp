// The training step of a small transformer block on CPUs, beside nothing: 2 x 64 tokens, 128 wide, 16 heads, bfloat16, which CPUs compute in
// float.

#include <benchmark/benchmark.h>

#include "transformer.hpp"

namespace {

using model = models::transformer<2, 64, 128, 16>;

void step(benchmark::State& state) {
    model m("/cpu:0");
    const auto step = m.session.callable(models::tn::feeds(m.x, m.wanted), models::tn::fetches(m.train, m.loss));
    const auto x = model::values(1), wanted = model::values(2);
    for (int i = 0; i < 2; ++i) (void)step(x, wanted); // makes the plan
    for (auto _ : state) benchmark::DoNotOptimize(step(x, wanted));
    using benchmark::Counter;
    state.counters["tokens/s"] = Counter(2 * 64, Counter::kIsIterationInvariantRate);
    state.counters["FLOP/s"] = Counter(model::operations, Counter::kIsIterationInvariantRate);
}

} // namespace

BENCHMARK(step)->Name("transformer block, 2 x 64 x 128, 16 heads, bfloat16")->UseRealTime();
BENCHMARK_MAIN();
