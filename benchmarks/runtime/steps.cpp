// What a step costs beyond its arithmetic (PERFORMANCE P1, P2). One thread.
// P1: a two-node graph, fed and fetched, beside the two loops written by hand on arrays made for the result.
// P2: a chain of 1,000 tanh of 8 elements, with and without its gradient, beside calls of std::tanh.

#include <cmath>

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/session/session.hpp>

#include "ratio.hpp"

namespace tn = tenon;

namespace {

constexpr int nodes = 1000;
using eight = tn::shape<8>;
using values = tn::array<float, eight>;

const values& input() {
    static const values v{.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f};
    return v;
}

tn::session_options serial() { return {.intra_op_threads = 1}; }

void two_nodes(benchmark::State& state) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, eight>("x");
    const auto y = exp(x);
    const auto z = tn::sum(y);
    tn::session s(g, serial());
    const auto step = s.callable(tn::feeds(x), tn::fetches(z));
    step(input()); // makes the plan
    for (auto _ : state) benchmark::DoNotOptimize(step(input()));
}

void two_loops(benchmark::State& state) {
    for (auto _ : state) {
        values y;
        for (int i = 0; i < 8; ++i) y.data()[i] = std::exp(input().data()[i]);
        tn::array<float, tn::shape<>> z;
        float sum = 0;
        for (const float v : y) sum += v;
        *z.data() = sum;
        benchmark::DoNotOptimize(z);
    }
}

template <bool Gradient, bool Fuse> void chain(benchmark::State& state) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, eight>("x");
    tn::tensor<float, eight> h = x;
    for (int i = 0; i < nodes; ++i) h = tanh(h);
    tn::session_options o = serial();
    o.fuse = Fuse;
    tn::session s(g, o);
    if constexpr (Gradient) {
        const auto [dx] = tn::gradients(tn::sum(h), x);
        const auto step = s.callable(tn::feeds(x), tn::fetches(dx));
        step(input());
        for (auto _ : state) benchmark::DoNotOptimize(step(input()));
    } else {
        const auto step = s.callable(tn::feeds(x), tn::fetches(h));
        step(input());
        for (auto _ : state) benchmark::DoNotOptimize(step(input()));
    }
}

void tanh_calls(benchmark::State& state) {
    for (auto _ : state) {
        float h[8];
        for (int k = 0; k < 8; ++k) h[k] = input().data()[k];
        for (int i = 0; i < nodes; ++i)
            for (float& v : h) v = std::tanh(v);
        benchmark::DoNotOptimize(h);
    }
}

} // namespace

int main(int argc, char** argv) {
    benchmark::RegisterBenchmark("two_nodes", two_nodes);
    benchmark::RegisterBenchmark("two_loops", two_loops);
    benchmark::RegisterBenchmark("chain", chain<false, true>);
    benchmark::RegisterBenchmark("chain_unfused", chain<false, false>);
    benchmark::RegisterBenchmark("chain_gradient", chain<true, true>);
    benchmark::RegisterBenchmark("chain_gradient_unfused", chain<true, false>);
    benchmark::RegisterBenchmark("tanh_calls", tanh_calls);
    return ratio::run(argc, argv,
                      {{"P1 step of two nodes / loops by hand", "two_nodes", "two_loops"},
                       {"P2 chain of tanh[8], a node / std::tanh", "chain", "tanh_calls", 0, nodes},
                       {"P2 the same, nodes not fused", "chain_unfused", "tanh_calls", 0, nodes},
                       {"P2 with gradient, a node", "chain_gradient", "", 0, nodes},
                       {"P2 with gradient, nodes not fused", "chain_gradient_unfused", "", 0, nodes}});
}
