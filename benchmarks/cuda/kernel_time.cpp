// What tn::benchmark says of a program's own kernel on a GPU beside two events by hand around the same kernel (target: within 2 % of it).

#include <tenon/cuda/cuda_source.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/trace/timed_kernel.hpp>

#include "cuda/gpu.hpp"
#include "cuda/hand_chain.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

struct tanh_op {
    static constexpr const char* name = "benchmark_tanh";
    using attributes = tn::no_attributes;
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& s) {
        return tn::cuda_source(
                   "hyperbolic_tangent",
                   R"(extern "C" __global__ void hyperbolic_tangent(const float* from, float* to, long long n) {
            const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) to[i] = tanhf(from[i]);
        })",
                   {s.outputs[0].extents.elements()})
            .prepare(s);
    }
};

void by_tenon(benchmark::State& state, std::int64_t elements) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto on_gpu = tn::on("/gpu:0");
    const tn::any_tensor x =
        tn::untyped::variable("x", {tn::element_type::float32, {elements}}, tn::uniform(0.1, 1, 3));
    const tn::any_tensor y = tn::add<tanh_op>({}, {x});
    tn::session s(g);
    s.run(tn::initialize_variables());
    const auto kernel = s.kernel_of(y);
    kernel->run(10);
    for (auto _ : state) state.SetIterationTime(kernel->run(1));
}

void by_hand(benchmark::State& state, std::int64_t elements) {
    const baseline::hand_tanh kernel(elements);
    for (int i = 0; i < 10; ++i) kernel.run();
    for (auto _ : state) state.SetIterationTime(kernel.run());
}

} // namespace

int main(int argc, char** argv) {
    if (!gpu::is_there()) return 77;
    std::vector<ratio::row> rows;
    for (const std::int64_t elements : {1'000, 1'000'000, 100'000'000}) {
        const std::string n = std::to_string(elements), ours = n + "/benchmark", theirs = n + "/events";
        benchmark::RegisterBenchmark(ours.c_str(), by_tenon, elements)->UseManualTime();
        benchmark::RegisterBenchmark(theirs.c_str(), by_hand, elements)->UseManualTime();
        rows.push_back({"a kernel on " + n + " floats, timed", ours, theirs, 0.98, 1e3, "us"});
    }
    return ratio::run(argc, argv, rows);
}
