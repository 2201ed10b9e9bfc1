// What a step on a GPU costs beside its arithmetic: a chain of 1,000 small kernels, none fused with another, beside the same launches in a
// CUDA graph made by hand (target: at most 1.2 of its time, so 0.83 of its speed).

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/state/state.hpp>

#include "cuda/gpu.hpp"
#include "cuda/hand_chain.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

constexpr int nodes = 1000;
constexpr std::int64_t elements = 1024;

void through_graph(benchmark::State& state) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto on_gpu = tn::on("/gpu:0");
    const auto x = tn::variable<float, tn::shape<elements>>("x", tn::uniform(0.1, 1, 3));
    tn::any_tensor y = x;
    for (int i = 0; i < nodes; ++i) y = tn::untyped::tanh(y);
    const auto kept = tn::variable<float, tn::shape<elements>>("y", tn::zeros());
    const tn::operation target = tn::untyped::group({tn::untyped::assign(kept, y)});
    tn::session s(g, {.fuse = false});
    s.run(tn::initialize_variables());
    const auto step = s.callable_untyped({}, {}, {target});
    for (int i = 0; i < 3; ++i) step({}); // the first ones record it
    for (auto _ : state) step({});
}

void by_hand(benchmark::State& state) {
    baseline::hand_chain chain(nodes, elements);
    for (auto _ : state) chain.run();
}

} // namespace

int main(int argc, char** argv) {
    if (!gpu::is_there()) return 77;
    benchmark::RegisterBenchmark("chain/tenon", through_graph)->UseRealTime();
    benchmark::RegisterBenchmark("chain/graph", by_hand)->UseRealTime();
    return ratio::run(argc, argv,
                      {{"chain of 1,000 kernels, a node", "chain/tenon", "chain/graph", 0.83, nodes, "ns"}});
}
