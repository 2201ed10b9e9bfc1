// Reductions along each axis of a tensor in memory, beside a copy of the same bytes (PERFORMANCE P8). A copy
// reads and writes; at the copy's bandwidth a reduction, which only reads, takes half of the copy's time. A
// speed of 1.6 is therefore 0.8 of the bandwidth. One thread, then two.

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

#include "ratio.hpp"

namespace tn = tenon;

namespace {

constexpr std::int64_t elements = std::int64_t{1} << 25; // 128 MB of floats

const tn::any_array& values() {
    static const tn::any_array a = [] {
        tn::any_array v(tn::element_type::float32, tn::extents(elements));
        std::minstd_rand r(3);
        for (std::int64_t i = 0; i < elements; ++i) v.data<float>()[i] = static_cast<float>(r()) * 0x1p-31F;
        return v;
    }();
    return a;
}

void copy(benchmark::State& state, int threads) {
    const float* from = values().data<float>();
    tn::any_array to = values().copy(); // its pages are there
    tn::thread_pool pool(threads);
    for (auto _ : state) {
        pool.parallel_for(elements, elements / threads, [&](std::int64_t begin, std::int64_t end) {
            std::memcpy(to.data<float>() + begin, from + begin, static_cast<std::size_t>(end - begin) * 4);
        });
        benchmark::ClobberMemory();
    }
}

using reduction = std::function<tn::any_tensor(const tn::any_tensor&)>;

// The sizes are run-time ones: nothing is compiled for them.
void reduce(benchmark::State& state, const tn::extents& sizes, const reduction& r, double wanted, int threads) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const tn::any_array x = values().share().reshape(sizes);
    const tn::any_tensor in = tn::untyped::placeholder(tn::element_type::float32, sizes);
    const tn::any_tensor out = r(in);
    tn::session_options o{.intra_op_threads = threads, .use_per_session_threads = true};
    tn::session s(g, o);
    const auto run = [&] {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({in, x.share()});
        return std::move(s.run_untyped(std::move(feeds), {out})[0]);
    };
    const tn::any_array first = run();
    const double found = static_cast<double>(first.data<float>()[0]);
    if (wanted != 0 && !(std::fabs(found - wanted) < 0.2 * wanted)) {
        state.SkipWithError("a wrong result");
        return;
    }
    for (auto _ : state) benchmark::DoNotOptimize(run());
}

} // namespace

int main(int argc, char** argv) {
    struct made {
        const char* name;
        tn::extents sizes;
        reduction r;
        double wanted; // of uniform numbers in 0 .. 1; 0: not checked
    };
    using tn::any_tensor, tn::extents;
    using tn::untyped::sum;
    const std::int64_t n = elements;
    const std::vector<made> all{
        {"sum of all", extents(n), [](const any_tensor& x) { return sum(x); }, 0.5 * static_cast<double>(n)},
        {"mean of all", extents(n), [](const any_tensor& x) { return tn::untyped::mean(x); }, 0.5},
        {"max of all", extents(n), [](const any_tensor& x) { return tn::untyped::max(x); }, 1},
        {"sum of rows of 4096", extents(n / 4096, 4096), [](const any_tensor& x) { return sum(x, {1}); }, 2048},
        {"sum of rows of 256", extents(n / 256, 256), [](const any_tensor& x) { return sum(x, {1}); }, 128},
        {"sum of rows of 32", extents(n / 32, 32), [](const any_tensor& x) { return sum(x, {1}); }, 0},
        {"sum of columns, 4096 wide", extents(n / 4096, 4096), [](const any_tensor& x) { return sum(x, {0}); }, 4096},
        {"sum of columns, 256 wide", extents(n / 256, 256), [](const any_tensor& x) { return sum(x, {0}); }, 65536},
        {"sum of columns, 16 wide", extents(n / 16, 16), [](const any_tensor& x) { return sum(x, {0}); }, 1048576},
        {"sum of columns, 65536 wide", extents(n / 65536, 65536), [](const any_tensor& x) { return sum(x, {0}); }, 256},
        {"sum of the middle of [32, 1024, 1024]", extents(32, 1024, 1024),
         [](const any_tensor& x) { return sum(x, {1}); }, 512},
        {"sum of the middle of [8192, 64, 64]", extents(8192, 64, 64), [](const any_tensor& x) { return sum(x, {1}); },
         0},
        {"sum of both ends of [32, 64, 16384]", extents(32, 64, 16384),
         [](const any_tensor& x) {
             return sum(x, {0, 2});
         },
         262144},
        {"max of rows of 4096", extents(n / 4096, 4096), [](const any_tensor& x) { return tn::untyped::max(x, {1}); },
         1},
        {"max of columns, 4096 wide", extents(n / 4096, 4096),
         [](const any_tensor& x) { return tn::untyped::max(x, {0}); }, 1},
        {"norm of rows of 4096", extents(n / 4096, 4096),
         [](const any_tensor& x) { return tn::untyped::norm(x, 2, {1}); }, 36.95},
        {"variance of rows of 4096", extents(n / 4096, 4096),
         [](const any_tensor& x) { return tn::untyped::variance(x, {1}); }, 1.0 / 12},
        {"logsumexp of rows of 4096", extents(n / 4096, 4096),
         [](const any_tensor& x) { return tn::untyped::logsumexp(x, {1}); }, 8.859},
    };
    std::vector<ratio::row> rows;
    std::vector<std::string> names;
    names.reserve(all.size() * 2);
    for (const int threads : {1, 2}) {
        const std::string copy_name = "copy_" + std::to_string(threads);
        benchmark::RegisterBenchmark(copy_name.c_str(), [=](benchmark::State& s) { copy(s, threads); })->UseRealTime();
        for (const made& m : all) {
            const std::string name = std::string(m.name) + ", " + std::to_string(threads) + " thr.";
            benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) {
                reduce(s, m.sizes, m.r, m.wanted, threads);
            })->UseRealTime();
            rows.push_back({"P8 " + name, name, copy_name, 1.6, 1e6, "ms"});
        }
    }
    return ratio::run(argc, argv, rows);
}
