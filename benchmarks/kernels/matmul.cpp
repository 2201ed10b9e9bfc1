// Products through the graph beside oneDNN called directly (PERFORMANCE P7): squares of 32 .. 1024, the
// layers of an MLP, a layer that is 10 wide, products whose operands lie transposed, and small batches. One
// thread.

#include <cmath>
#include <random>

#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

#include "baseline/onednn_support.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

struct product {
    const char* name;
    std::int64_t m, k, n;
    bool ta, tb;
    double target;
};

tn::any_array random_matrix(std::int64_t rows, std::int64_t columns, unsigned seed) {
    tn::any_array a(tn::element_type::float32, tn::extents(rows, columns));
    std::minstd_rand r(seed);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<float>()[i] = static_cast<float>(r()) * 0x1p-30F - 1.0F;
    return a;
}
tn::any_array left(const product& p) { return p.ta ? random_matrix(p.k, p.m, 1) : random_matrix(p.m, p.k, 1); }
tn::any_array right(const product& p) { return p.tb ? random_matrix(p.n, p.k, 2) : random_matrix(p.k, p.n, 2); }

// Many products in one step, so that what a step costs is not what is measured (benchmarks/runtime/steps.cpp does
// that).
constexpr int products = 8;

void through_graph(benchmark::State& state, const product& p) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const tn::any_array a = left(p), b = right(p);
    tn::session_options o{.intra_op_threads = 1};
    tn::session s(g, o);
    std::vector<tn::any_tensor> xs, ys;
    const tn::any_tensor w = tn::untyped::placeholder(tn::element_type::float32, b.extents());
    for (int i = 0; i < products; ++i) {
        xs.push_back(tn::untyped::placeholder(tn::element_type::float32, a.extents()));
        ys.push_back(tn::untyped::matmul(xs.back(), w, p.ta, p.tb));
    }
    const auto run = [&] {
        std::vector<tn::fed_value> feeds;
        for (const tn::any_tensor& x : xs) feeds.push_back({x, a.share()});
        feeds.push_back({w, b.share()});
        return s.run_untyped(std::move(feeds), ys);
    };
    double wanted = 0;
    for (std::int64_t l = 0; l < p.k; ++l)
        wanted += static_cast<double>(a.data<float>()[p.ta ? l * p.m : l]) *
                  static_cast<double>(b.data<float>()[p.tb ? l : l * p.n]);
    if (!(std::fabs(static_cast<double>(run()[0].data<float>()[0]) - wanted) < 1e-3)) {
        state.SkipWithError("a wrong product");
        return;
    }
    for (auto _ : state) benchmark::DoNotOptimize(run());
}

#if defined(BASELINE_ONEDNN)
void directly(benchmark::State& state, const product& p) {
    baseline::use_one_openmp_thread();
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const dnnl::stream stream(engine);
    tn::any_array a = left(p), b = right(p), c(tn::element_type::float32, tn::extents(p.m, p.n));
    baseline::matrix ma = baseline::dense_matrix(a.data<float>(), a.extents()[0].size, a.extents()[1].size);
    baseline::matrix mb = baseline::dense_matrix(b.data<float>(), b.extents()[0].size, b.extents()[1].size);
    const auto one = baseline::make_product(engine, p.ta ? ma.transposed() : ma, p.tb ? mb.transposed() : mb,
                                            baseline::dense_matrix(c.data<float>(), p.m, p.n), nullptr,
                                            baseline::after_product::nothing);
    for (auto _ : state) {
        for (int i = 0; i < products; ++i) one.run(stream);
        benchmark::ClobberMemory();
    }
}
#endif

} // namespace

int main(int argc, char** argv) {
    static const product all[] = {
        {"32 x 32 x 32", 32, 32, 32, false, false, 0.85},
        {"64 x 64 x 64", 64, 64, 64, false, false, 0.85},
        {"128 x 128 x 128", 128, 128, 128, false, false, 0.85},
        {"256 x 256 x 256", 256, 256, 256, false, false, 0.98},
        {"512 x 512 x 512", 512, 512, 512, false, false, 0.98},
        {"1024 x 1024 x 1024", 1024, 1024, 1024, false, false, 0.98},
        {"layer 50 x 784 x 300", 50, 784, 300, false, false, 0.85},
        {"layer 128 x 784 x 300", 128, 784, 300, false, false, 0.85},
        {"layer 50 x 100 x 10", 50, 100, 10, false, false, 0.85},
        {"layer 128 x 100 x 10", 128, 100, 10, false, false, 0.85},
        {"its weights' gradient, 784 x 128 x 300, a transposed", 784, 128, 300, true, false, 0.85},
        {"its input's gradient, 128 x 300 x 784, b transposed", 128, 300, 784, false, true, 0.85},
        {"both transposed, 256 x 256 x 256", 256, 256, 256, true, true, 0.98},
    };
    std::vector<ratio::row> rows;
    for (const product& p : all) {
        const std::string ours = std::string("graph: ") + p.name, theirs = std::string("oneDNN: ") + p.name;
        benchmark::RegisterBenchmark(ours.c_str(), [&p](benchmark::State& s) { through_graph(s, p); });
#if defined(BASELINE_ONEDNN)
        benchmark::RegisterBenchmark(theirs.c_str(), [&p](benchmark::State& s) { directly(s, p); });
#endif
        // In nanoseconds for 1,000 multiplications and additions.
        const double operations = 2.0 * static_cast<double>(p.m * p.k * p.n) * products;
        rows.push_back(
            {std::string("P7 ") + p.name + ", ns per 1000 operations", ours, theirs, p.target, operations / 1000});
    }
    return ratio::run(argc, argv, rows);
}
