#include "tests.hpp"
#include "each_thread.hpp"
#include "runtime/support.hpp"

// A step that is planned once and run many times.

using namespace probe;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(in_graph, "a callable gives a tuple of what it fetches, with types and sizes") {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto v = tn::variable<float, tn::shape<>>("v", tn::zeros());
    const tn::operation count = v.assign_add(1.0f).operation();
    const auto step = tn::session(g).callable(tn::feeds(x), tn::fetches(x * 2.0f, count, sum(x)));
    initialized_session s;
    const auto f = s.callable(tn::feeds(x), tn::fetches(x * 2.0f, count, sum(x)));
    static_assert(std::is_same_v<decltype(f(tn::array<float>{{1, 2}})),
                                 std::tuple<tn::array<float, tn::shape<batch, 2>>, tn::array<float, tn::shape<>>>>);
    const auto [y, total] = f(tn::array<float>{{1, 2}, {3, 4}});
    CHECK(y(1, 1) == 8);
    CHECK(total.item() == 10);
    CHECK(s.run(v).item() == 1);
    // It keeps its session alive.
    CHECK_THROWS_AS(step(tn::array<float>{{1, 2}}), tn::failed_precondition_error); // where v has no value
}

TEST_CASE_FIXTURE(in_graph, "a callable takes arrays, untyped arrays and numbers") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const auto rate = tn::placeholder<float>("rate");
    tn::session s;
    const auto f = s.callable(tn::feeds(x, rate), tn::fetches(x * rate));
    const tn::array<float, tn::shape<2>> typed{1, 2};
    const tn::array<float> loose{1, 2};
    const tn::any_array untyped(tn::array<float>{1, 2});
    CHECK(std::get<0>(f(typed, 3.0f))(1) == 6);
    CHECK(std::get<0>(f(loose, 3))(1) == 6);
    CHECK(std::get<0>(f(untyped, 3.0))(1) == 6);
}

TEST_CASE_FIXTURE(
    in_graph,
    "a callable is fed untyped tensors, beside others: arrays of any kind, and numbers that the elements hold") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {tn::extent::named("batch"), 2}, "x");
    const tn::any_tensor level = tn::untyped::placeholder(tn::element_type::uint8, {}, "level");
    const auto rate = tn::placeholder<float>("rate");
    tn::session s;
    const auto f = s.callable(tn::feeds(x, rate, level), tn::fetches(tn::untyped::multiply(x, rate), level));
    const tn::array<float> loose{{1, 2}, {3, 4}};
    static_assert(std::is_same_v<decltype(f(loose, 2.0f, 7)), std::tuple<tn::any_array, tn::any_array>>);
    const auto [y, l] = f(loose, 2.0f, 7);
    CHECK(y.data<float>()[3] == 8);
    CHECK(l.data<std::uint8_t>()[0] == 7);
    CHECK(std::get<0>(f.run_for(10, tn::any_array(tn::array<float>{{5, 6}}), 3, 7)).data<float>()[1] == 18);
    CHECK_ERROR(tn::invalid_argument_error, "level", f(loose, 2.0f, 300));
    CHECK_ERROR(tn::invalid_argument_error, "feed of x: it is float[batch, 2], the value is float[3]",
                f(tn::array<float>{1, 2, 3}, 2.0f, 7));
    CHECK_ERROR(tn::invalid_argument_error, "double", f(tn::array<double>{{1, 2}}, 2.0f, 7));
    CHECK(std::get<0>(f(loose, 1.0f, 7)).data<float>()[0] == 1); // it is as it was
}

TEST_CASE_FIXTURE(in_graph, "a callable of lists known at run time takes and gives lists") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {2}, "x");
    const auto v = tn::variable<float, tn::shape<2>>("v", tn::zeros());
    initialized_session s;
    const auto f = s.callable_untyped({x}, {tn::untyped::add(x, x), x}, {tn::untyped::assign_add(v, x).operation()});
    std::vector<tn::any_array> values;
    values.emplace_back(tn::array<float>{1, 2});
    const std::vector<tn::any_array> got = f(values);
    REQUIRE(got.size() == 2);
    CHECK(got[0].data<float>()[1] == 4);
    CHECK(f.run_for(10, values)[1].data<float>()[0] == 1);
    CHECK(s.run(v)(1) == 4);
    const tn::untyped_pending_step started = f.start(values);
    CHECK(started.wait_for(100));
    CHECK(started.get()[0].data<float>()[0] == 2);
    CHECK_THROWS_AS(started.get(), tn::failed_precondition_error);
    CHECK(s.run(v)(1) == 6);
    CHECK_THROWS_AS(f.start({}), tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "it is fed 1 tensors, and was given 0 values", f({}));
    values[0] = tn::any_array(tn::array<float>{1, 2, 3});
    CHECK_ERROR(tn::invalid_argument_error, "feed of x: it is float[2], the value is float[3]", f(values));
    values[0] = tn::any_array();
    CHECK_THROWS_AS(f(values), tn::invalid_argument_error);
    CHECK(s.run(v)(1) == 6);
}

TEST_CASE_FIXTURE(in_graph, "a callable without feeds") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::zeros());
    initialized_session s;
    const auto next = s.callable(tn::feeds(), tn::fetches(v.assign_add(1.0f)));
    for (int i = 1; i <= 3; ++i) CHECK(std::get<0>(next()).item() == static_cast<float>(i));
}

TEST_CASE_FIXTURE(in_graph, "changing batch sizes are planned once each, and every size gives right results") {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto w = tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
    const auto y = tanh(matmul(x, w)) * 0.0f + matmul(x, w);
    tn::session s;
    const auto f = s.callable(tn::feeds(x), tn::fetches(y));
    for (int round = 0; round < 3; ++round)
        for (const std::int64_t n : {4, 1, 7, 0, 4, 100}) {
            tn::array<float, tn::shape<batch, 3>> v(n);
            for (std::int64_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 5);
            const auto [r] = f(v);
            REQUIRE(r.extent(0) == n);
            for (std::int64_t i = 0; i < n; ++i) CHECK(r(i, 1) == v(i, 0) * 2 + v(i, 1) * 4 + v(i, 2) * 6);
        }
}

TEST_CASE_FIXTURE(in_graph,
                  "plans are kept for a bounded number of sizes, with their memory; the least recently used go first") {
    const auto x = tn::placeholder<float, tn::shape<batch, 64>>("x");
    const tn::tensor<float, tn::shape<batch, 64>> h = watched(x, "h");
    const auto y = sum(h) + max(h);
    const auto feed = [&](std::int64_t n) {
        tn::array<float, tn::shape<batch, 64>> v(n);
        v.fill(1);
        return v;
    };
    tn::session s;
    const auto f = s.callable(tn::feeds(x), tn::fetches(y));
    for (std::int64_t n = 1; n <= 200; ++n) {
        REQUIRE(std::get<0>(f(feed(n))).item() == static_cast<float>(64 * n + 1));
        REQUIRE(s.run(tn::feed(x, feed(n)), h).extent(0) == n);
    }
    CHECK(s.statistics().plans == tn::session_options{}.kept_plans);
    CHECK(s.statistics().plan_bytes > 0);
    CHECK(s.statistics().plan_bytes <= 64u * (200 * 64 * sizeof(float) + 4096));

    tn::session two(tn::session_options{.kept_plans = 2});
    prepared() = 0;
    for (const std::int64_t n : {1, 2, 1, 3, 1}) two.run(tn::feed(x, feed(n)), y); // 3 drops 2
    CHECK(prepared() == 3);
    two.run(tn::feed(x, feed(2)), y);
    CHECK(prepared() == 4);
    CHECK(two.statistics().plans == 2);
    CHECK(
        contains(message_of<tn::invalid_argument_error>([] { tn::session none(tn::session_options{.kept_plans = 0}); }),
                 "kept_plans is 0"));
}

TEST_CASE_FIXTURE(in_graph, "several threads may run one callable, with sizes of their own") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const tn::tensor<float, tn::shape<batch>> h = x * 2.0f;
    const auto total = sum(h) + max(h);
    for (const int kept : {64, 1}) { // and where a plan is dropped while others run it
        tn::session s(tn::session_options{.kept_plans = kept});
        const auto f = s.callable(tn::feeds(x), tn::fetches(total, h));
        std::atomic<int> wrong{0};
        on_threads(4, [&](int t) {
            for (int i = 0; i < 100; ++i) {
                const std::int64_t n = 1 + (t * 7 + i) % 5;
                tn::array<float, tn::shape<batch>> v(n);
                v.fill(static_cast<float>(t + 1));
                const auto [r, back] = f(v);
                if (r.item() != static_cast<float>(t + 1) * 2 * static_cast<float>(n + 1)) ++wrong;
                if (back.size() != n || back[n - 1] != static_cast<float>(t + 1) * 2) ++wrong;
            }
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE_FIXTURE(in_graph, "what a callable returned before stays as it was") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    tn::session s;
    const auto f = s.callable(tn::feeds(x), tn::fetches(x + 1.0f));
    const auto [first] = f(tn::array<float>{1, 2});
    const auto [second] = f(tn::array<float>{10, 20});
    CHECK(first(0) == 2);
    CHECK(second(0) == 11);
}

TEST_CASE("a callable is refused when it is made where its tensors are of another graph") {
    const tn::graph mine, other;
    tn::tensor<float, tn::shape<>> foreign;
    {
        const tn::graph_scope in(other);
        foreign = tn::placeholder<float>("foreign");
    }
    tn::session s(mine);
    CHECK_ERROR(tn::invalid_argument_error, "foreign cannot be fed: it belongs to another graph",
                s.callable(tn::feeds(foreign), tn::fetches(foreign)));
}
