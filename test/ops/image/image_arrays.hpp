#pragma once

#include "tests.hpp"
#include "ops/untyped_run.hpp"

/// Images for tests, and what they are compared by.

namespace tenon::test {

inline constexpr struct batch_of_images : dim<"batch"> {} batch;

/// Element i is ((37 i + 11) mod 23) / 7 - 1, or ((37 i + 11) mod 23) of integers: what the expected values were computed of.
template <class T> array<T> images(const extents& sizes) {
    array<T> a(sizes);
    for (std::int64_t i = 0; i < a.size(); ++i) {
        const auto v = static_cast<double>((i * 37 + 11) % 23);
        if constexpr (std::is_integral_v<T>) a[i] = static_cast<T>(v);
        else a[i] = static_cast<T>(static_cast<float>(v / 7 - 1));
        if constexpr (std::is_same_v<T, double>) a[i] = v / 7 - 1;
    }
    return a;
}

template <class A> void check_close(const A& got, const std::vector<double>& expected, double tolerance = 1e-7) {
    REQUIRE(got.size() == static_cast<std::int64_t>(expected.size()));
    for (std::int64_t i = 0; i < got.size(); ++i) {
        INFO("element " << i);
        CHECK(std::fabs(static_cast<double>(got.span()[static_cast<std::size_t>(i)]) -
                        expected[static_cast<std::size_t>(i)]) <= tolerance);
    }
}

/// The results of three runs of f(x), with this many threads.
template <class T, class S, class F> std::vector<any_array> three_runs(const array<T>& value, F&& f, int threads) {
    const graph_scope scope{graph()};
    const auto x = placeholder<T, S>("x");
    const any_tensor y = f(x);
    session s(graph::current(), {.intra_op_threads = threads, .use_per_session_threads = true});
    std::vector<any_array> results;
    for (int i = 0; i < 3; ++i) {
        results.push_back(std::move(s.run_untyped(test::fed(x, value.untyped()), {y})[0]));
    }
    return results;
}
/// The same numbers for the same seed with 1 and with 3 threads, others in each run.
template <class T, class S, class F> void check_seeded(const array<T>& value, F&& f) {
    const auto one = three_runs<T, S>(value, f, 1), three = three_runs<T, S>(value, f, 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::memcmp(one[i].data(), three[i].data(), one[i].bytes()) == 0);
    CHECK(std::memcmp(one[0].data(), one[1].data(), one[0].bytes()) != 0);
    CHECK(std::memcmp(one[1].data(), one[2].data(), one[0].bytes()) != 0);
}

} // namespace tenon::test
