// What only moves memory, beside a copy of the same bytes on the same GPU (PERFORMANCE G2 and the rows kernels): a fused chain of 1e8
// floats, reductions along each axis, softmax, layer normalisation and their gradients, optimiser steps. A speed of 1 is the copy's bandwidth; an op that
// only reads counts what it reads. Four matrices of 512 MB a step, so that starting a step is little of it.

#include <functional>

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/formulas.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/normalization.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/optimize/optimizers.hpp>

#include "cuda/gpu.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

constexpr std::int64_t rows = 16384, columns = 8192; // 512 MB of floats
constexpr double bytes = static_cast<double>(rows) * static_cast<double>(columns) * 4;

// A copy that reads and writes so many bytes in all.
void copy(benchmark::State& state, double moved) {
    const auto each = static_cast<std::size_t>(moved / 2);
    const gpu::buffer from(each), to(each);
    cudaStream_t stream{};
    gpu::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    for (auto _ : state) {
        for (int i = 0; i < gpu::times_over; ++i)
            gpu::check(cudaMemcpyAsync(to.data(), from.data(), each, cudaMemcpyDeviceToDevice, stream),
                       "cudaMemcpyAsync");
        gpu::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    gpu::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

using matrix = decltype(tn::variable<float, tn::shape<rows, columns>>("", tn::normal()));
using results = std::vector<tn::any_tensor>;
/// Of x, and of a second matrix that is made where it is asked for.
using formula = std::function<results(const matrix& x, const std::function<matrix()>& dy)>;

matrix random_matrix(const char* name, unsigned i) {
    return tn::variable<float, tn::shape<rows, columns>>(name + std::to_string(i), tn::normal(0, 1, i + 1));
}

// The formula of matrices on the GPU, whose results are written to variables there.
void through_graph(benchmark::State& state, const formula& f) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto on_gpu = tn::on("/gpu:0");
    std::vector<tn::operation> targets;
    for (unsigned i = 0; i < gpu::times_over; ++i) {
        results kept;
        for (const tn::any_tensor& y : f(random_matrix("x", i), [i] { return random_matrix("dy", i); }))
            kept.push_back(
                tn::untyped::assign(tn::untyped::variable("y" + std::to_string(i), y.type(), tn::zeros()), y));
        targets.push_back(tn::untyped::group(kept));
    }
    tn::session s(g);
    s.run(tn::initialize_variables());
    const auto step = s.callable_untyped({}, {}, targets);
    step({});
    for (auto _ : state) step({});
}

// One optimiser step of that many parameters, whose gradient is a variable too.
template <class Optimizer> void optimizer(benchmark::State& state, const Optimizer& how) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto on_gpu = tn::on("/gpu:0");
    std::vector<tn::operation> targets;
    for (unsigned i = 0; i < gpu::times_over; ++i) {
        const matrix w = random_matrix("w", i), gradient = random_matrix("g", i);
        targets.push_back(
            how.minimize(tn::sum(w * tn::stop_gradient(gradient)),
                         {.variables = {w}, .advance_global_step = false, .name = "train" + std::to_string(i)}));
    }
    tn::session s(g);
    s.run(tn::initialize_variables());
    const auto step = s.callable_untyped({}, {}, targets);
    step({});
    for (auto _ : state) step({});
}

std::vector<ratio::row> rows_of;

// What it moves, in parts of the matrix' bytes: 1 is read once, 2 is read and written.
void compare(const std::string& title, double moved, double target, std::function<void(benchmark::State&)> ours) {
    const std::string a = title + "/tenon", b = title + "/copy";
    benchmark::RegisterBenchmark(a.c_str(), std::move(ours))->UseRealTime();
    benchmark::RegisterBenchmark(b.c_str(), [moved](benchmark::State& state) {
        copy(state, moved * bytes);
    })->UseRealTime();
    rows_of.push_back({title, a, b, target, gpu::times_over * 1e3, "us"});
}
void compare(const std::string& title, double moved, double target, const formula& f) {
    compare(title, moved, target, [f](benchmark::State& state) { through_graph(state, f); });
}

} // namespace

int main(int argc, char** argv) {
    if (!gpu::is_there()) return 77;
    using second = std::function<matrix()>;
    compare("G2: relu(2 x + 1) * sigmoid(3 - x)", 2, 0.9,
            [](const matrix& x, const second&) -> results { return {relu(2.0F * x + 1.0F) * sigmoid(3.0F - x)}; });
    compare("sum of all", 1, 0.85, [](const matrix& x, const second&) -> results { return {tn::sum(x)}; });
    compare("sum of rows", 1, 0.85, [](const matrix& x, const second&) -> results { return {tn::sum<1>(x)}; });
    compare("sum of columns", 1, 0.85, [](const matrix& x, const second&) -> results { return {tn::sum<0>(x)}; });
    compare("max of rows", 1, 0.85, [](const matrix& x, const second&) -> results { return {tn::max<1>(x)}; });
    compare("softmax of rows", 2, 0.85, [](const matrix& x, const second&) -> results { return {tn::softmax<1>(x)}; });
    // The first writes y, which the second reads with dy.
    compare("softmax of rows, then its gradient", 5, 0.85, [](const matrix& x, const second& dy) -> results {
        return tn::detail::add_gradients({tn::softmax<1>(x)}, {x}, {dy()});
    });
    const auto normalized = [](const matrix& x) {
        const auto gamma = tn::variable<float, tn::shape<columns>>("gamma", tn::ones());
        const auto beta = tn::variable<float, tn::shape<columns>>("beta", tn::zeros());
        return std::tuple(tn::layer_norm(x, gamma, beta), gamma, beta);
    };
    compare("layer_norm of rows", 2, 0.85,
            [=](const matrix& x, const second&) -> results { return {std::get<0>(normalized(x))}; });
    // Of the first what the second needs is a mean and a factor a row.
    compare("layer_norm of rows, then its gradients", 4, 0.85, [=](const matrix& x, const second& dy) -> results {
        const auto [y, gamma, beta] = normalized(x);
        return tn::detail::add_gradients({y}, {x, gamma, beta}, {dy()});
    });
    compare("gradient descent step", 3, 0.85, [](benchmark::State& s) { optimizer(s, tn::gradient_descent(0.01)); });
    compare("momentum step", 5, 0.85, [](benchmark::State& s) { optimizer(s, tn::momentum(0.01)); });
    compare("Adam step", 7, 0.85, [](benchmark::State& s) { optimizer(s, tn::adam(0.001)); });
    return ratio::run(argc, argv, rows_of);
}
