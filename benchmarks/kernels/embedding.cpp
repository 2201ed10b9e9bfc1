// A training step of an embedding of 100000 words by 64 numbers, of which a batch names 1024: with the sparse gradient of
// gather beside the same step with a dense one.

#include <tenon/tenon.hpp>

#include "ratio.hpp"

namespace tn = tenon;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
constexpr int words = 100000, width = 64, named = 1024;

template <class Optimizer, bool Sparse> void step(benchmark::State& state) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto table = tn::variable<float, tn::shape<words, width>>("table", tn::uniform(-1, 1, 1));
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    const auto loss = mean(square(gather(table, ids) - 0.5f));
    auto gradients = tn::optimizer::compute_gradients(loss);
    if constexpr (!Sparse)
        for (tn::gradient_and_variable& p : gradients) p.gradient = tn::untyped::identity(p.gradient);
    const tn::operation train = Optimizer(0.01).apply_gradients(gradients);
    tn::session s(g, {.intra_op_threads = 1, .use_per_session_threads = true});
    s.run(tn::initialize_variables());
    auto some = tn::array<std::int32_t>(tn::extents(named));
    for (int i = 0; i < named; ++i)
        some[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * i * 7919 % words);
    const auto run = s.callable(tn::feeds(ids), tn::fetches(train, loss));
    run(some); // makes the plan
    for (auto _ : state) benchmark::DoNotOptimize(run(some));
}

} // namespace

int main(int argc, char** argv) {
    benchmark::RegisterBenchmark("sgd", step<tn::gradient_descent, true>);
    benchmark::RegisterBenchmark("sgd_dense", step<tn::gradient_descent, false>);
    benchmark::RegisterBenchmark("adagrad", step<tn::adagrad, true>);
    benchmark::RegisterBenchmark("adagrad_dense", step<tn::adagrad, false>);
    benchmark::RegisterBenchmark("adam", step<tn::adam, true>);
    benchmark::RegisterBenchmark("adam_dense", step<tn::adam, false>);
    return ratio::run(argc, argv,
                      {{"embedding step, gradient descent / dense", "sgd", "sgd_dense", 0, 1e3, "us"},
                       {"embedding step, Adagrad / dense", "adagrad", "adagrad_dense", 0, 1e3, "us"},
                       {"embedding step, Adam / dense", "adam", "adam_dense", 0, 1e3, "us"}});
}
