// Sorting a row of a million numbers on one thread, beside std::sort of the same numbers, and finding their order, beside
// std::stable_sort of their places; then many short rows, beside std::sort of each.

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <tenon/tenon.hpp>

#include "ratio.hpp"

namespace tn = tenon;

namespace {

template <class T> tn::any_array drawn(const tn::extents& sizes) {
    tn::any_array a(tn::element_type_of<T>, sizes);
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal(0, 1e6);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<T>()[i] = static_cast<T>(normal(random));
    return a;
}

// `Places`: argsort.
template <class T, bool Places> void ours(benchmark::State& state, tn::extents sizes) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type_of<T>, sizes);
    const tn::any_tensor y = Places ? tn::untyped::argsort(x) : tn::untyped::sort(x);
    tn::session s(g, {.intra_op_threads = 1, .use_per_session_threads = true});
    const tn::any_array values = drawn<T>(sizes);
    const auto run = [&] {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({x, values.share()});
        return s.run_untyped(std::move(feeds), {y});
    };
    run(); // makes the plan
    for (auto _ : state) benchmark::DoNotOptimize(run());
}

template <class T> void by_std(benchmark::State& state, tn::extents sizes) {
    const tn::any_array values = drawn<T>(sizes);
    const std::int64_t n = sizes[sizes.rank() - 1].size;
    for (auto _ : state) {
        const tn::any_array sorted = values.copy();
        for (std::int64_t at = 0; at < sorted.elements(); at += n)
            std::sort(const_cast<T*>(sorted.data<T>()) + at, const_cast<T*>(sorted.data<T>()) + at + n);
        benchmark::DoNotOptimize(sorted.data<T>());
    }
}
template <class T> void places_by_std(benchmark::State& state, tn::extents sizes) {
    const tn::any_array values = drawn<T>(sizes);
    const T* const x = values.data<T>();
    std::vector<std::int64_t> places(static_cast<std::size_t>(values.elements()));
    for (auto _ : state) {
        std::iota(places.begin(), places.end(), 0);
        std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) { return x[a] < x[b]; });
        benchmark::DoNotOptimize(places.data());
    }
}

template <class T> void add(std::vector<ratio::row>& rows, const std::string& type) {
    const tn::extents one(1000000), many(10000, 100);
    const auto pair = [&](const std::string& title, auto mine, auto theirs, const tn::extents& sizes) {
        benchmark::RegisterBenchmark(title.c_str(), [=](benchmark::State& s) { mine(s, sizes); });
        benchmark::RegisterBenchmark((title + " std").c_str(), [=](benchmark::State& s) { theirs(s, sizes); });
        rows.push_back({title + ", beside std", title, title + " std", 0, 1e6, "ms"});
    };
    pair("sort 1e6 " + type, ours<T, false>, by_std<T>, one);
    pair("argsort 1e6 " + type, ours<T, true>, places_by_std<T>, one);
    pair("sort 1e4 rows of 100 " + type, ours<T, false>, by_std<T>, many);
}

} // namespace

int main(int argc, char** argv) {
    std::vector<ratio::row> rows;
    add<float>(rows, "float");
    add<double>(rows, "double");
    add<std::int32_t>(rows, "int32");
    add<std::int64_t>(rows, "int64");
    return ratio::run(argc, argv, rows);
}
