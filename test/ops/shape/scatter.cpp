#include "tests.hpp"
#include "each_thread.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

// SEMANTICS 20: scatter updates of variables.

using namespace tenon;
using test::element;
using test::random_array;

namespace {
inline constexpr struct batch_size : dim<"batch"> {} batch;
using bad = invalid_argument_error;
} // namespace

TEST_CASE("SEMANTICS 20: scatter updates change the rows that indices name; each is the variable after it") {
    const graph_scope scope{graph()};
    const auto v = variable("v", constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}}));
    const auto rows = constant({{10.0f, 20.0f}, {2.0f, 5.0f}});
    const auto ids = constant({2, 0});
    session s;
    const auto after = [&](const auto& update) {
        s.run(v.initializer());
        auto result = s.run(update);
        CHECK(s.run(v) == result);
        return result;
    };
    using values = array<float, shape<3, 2>>;
    CHECK(after(v.scatter_update(ids, rows)) == values{{2, 5}, {3, 4}, {10, 20}});
    CHECK(after(v.scatter_add(ids, rows)) == values{{3, 7}, {3, 4}, {15, 26}});
    CHECK(after(v.scatter_sub(ids, rows)) == values{{-1, -3}, {3, 4}, {-5, -14}});
    CHECK(after(v.scatter_mul(ids, rows)) == values{{2, 10}, {3, 4}, {50, 120}});
    CHECK(after(v.scatter_div(ids, rows)) == values{{0.5f, 0.4f}, {3, 4}, {0.5f, 0.3f}});
    CHECK(after(v.scatter_min(ids, rows)) == values{{1, 2}, {3, 4}, {5, 6}});
    CHECK(after(v.scatter_max(ids, rows)) == values{{2, 5}, {3, 4}, {10, 20}});
    // One number for all; an expression; one row.
    CHECK(after(v.scatter_add(ids, 1.0f)) == values{{2, 3}, {3, 4}, {6, 7}});
    CHECK(after(v.scatter_update(ids, rows * 2.0f + 1.0f)) == values{{5, 11}, {3, 4}, {21, 41}});
    CHECK(after(v.scatter_update(constant(std::int64_t{1}), constant({8.0f, 9.0f}))) == values{{1, 2}, {8, 9}, {5, 6}});
    const auto list = variable("list", constant({1, 2, 3}));
    s.run(list.initializer());
    CHECK(s.run(list.scatter_add(constant({{2, 2}, {0, 2}}), constant({{1, 10}, {100, 1000}}))) ==
          array<int, shape<3>>{101, 2, 1014});
}

TEST_CASE("SEMANTICS 20: an index that occurs again: add takes all, update the last; with any number of threads") {
    for (const int threads : {1, 3}) {
        const own_graph g;
        constexpr int rows = 50, width = 300, many = 4000;
        const auto sums = variable<double, shape<rows, width>>("sums", ones());
        const auto last = variable<double, shape<rows, width>>("last", ones());
        const auto ids = placeholder<std::int64_t, shape<batch>>("ids");
        const auto x = placeholder<double, shape<batch, width>>("x");
        initialized_session s(g, {.intra_op_threads = threads, .use_per_session_threads = true});
        const any_array values = random_array<double>(extents(many, width));
        any_array names(element_type::int64, extents(many));
        std::vector<double> wanted_sums(rows * width, 1), wanted_last(rows * width, 1);
        for (std::int64_t i = 0; i < many; ++i) {
            const std::int64_t row = i * i % 47;
            names.data<std::int64_t>()[i] = row;
            for (std::int64_t k = 0; k < width; ++k) {
                const double value = element<double>(values, i * width + k);
                wanted_sums[static_cast<std::size_t>(row * width + k)] += value;
                wanted_last[static_cast<std::size_t>(row * width + k)] = value;
            }
        }
        s.run(feed(ids, names), feed(x, values), sums.scatter_add(ids, x), last.scatter_update(ids, x));
        const auto [a, b] = s.run(sums, last);
        for (std::int64_t i = 0; i < rows * width; ++i) {
            REQUIRE(a[i] == wanted_sums[static_cast<std::size_t>(i)]);
            REQUIRE(b[i] == wanted_last[static_cast<std::size_t>(i)]);
        }
    }
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: an index out of range is named before anything is written") {
    const auto v = variable<float, shape<4, 2>>("table", ones());
    const auto ids = placeholder<int, shape<dyn, 2>>("ids");
    const auto update = v.scatter_add(ids, 5.0f);
    initialized_session s;
    const auto with = [&](int index) { return s.run(feed(ids, array<int>{{0, 1}, {index, 3}}), update); };
    CHECK_ERROR(bad,
                "scatter_add (table/scatter_add): index 4 at [1, 0] is out of range for the 4 "
                "rows of variable \"table\"",
                with(4));
    CHECK_ERROR(bad, "index -1 at [1, 0]", with(-1));
    CHECK(s.run(sum(v)).item() == 8);
    CHECK(with(2)(3, 1) == 6);
}

TEST_CASE_TEMPLATE("scatter: of any element type", T, float, double, half, bfloat16, std::int8_t, std::uint16_t,
                   std::int32_t, std::uint64_t) {
    const graph_scope scope{graph()};
    const auto v = variable<T, shape<5, 3>>("v", constant_value(4));
    const auto x = placeholder<T, shape<4, 3>>("x");
    const auto ids = constant({1, 3, 1, 0});
    session s;
    const any_array values = random_array<T>(extents(4, 3));
    const auto check = [&](const auto& update, auto change) {
        s.run(v.initializer());
        std::vector<T> wanted(15, T(4));
        const int rows[] = {1, 3, 1, 0};
        for (std::size_t i = 0; i < 12; ++i) {
            T& w = wanted[static_cast<std::size_t>(rows[i / 3]) * 3 + i % 3];
            w = static_cast<T>(change(w, values.data<T>()[i]));
        }
        const auto got = s.run(feed(x, values), update);
        for (std::int64_t i = 0; i < 15; ++i)
            CHECK(static_cast<double>(got[i]) == static_cast<double>(wanted[static_cast<std::size_t>(i)]));
    };
    check(v.scatter_update(ids, x), [](T, T b) { return b; });
    if constexpr (std::is_integral_v<T>) {
        check(v.scatter_add(ids, x), [](T a, T b) { return a + b; });
        check(v.scatter_sub(ids, x), [](T a, T b) { return a - b; });
        check(v.scatter_div(ids, x), [](T a, T b) { return b == 0 ? T{0} : static_cast<T>(a / b); });
    } else {
        const auto f = [](T a) { return static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(a); };
        check(v.scatter_add(ids, x), [=](T a, T b) { return f(a) + f(b); });
        check(v.scatter_mul(ids, x), [=](T a, T b) { return f(a) * f(b); });
    }
    check(v.scatter_max(ids, x), [](T a, T b) { return static_cast<double>(a) < static_cast<double>(b) ? b : a; });
}

TEST_CASE("scatter: truth values are updated, not computed with; no rows and no indices are no work") {
    const graph_scope scope{graph()};
    const auto flags = variable<bool, shape<4>>("flags", zeros());
    const auto none = variable<float, shape<0, 3>>("none", zeros());
    const auto ids = placeholder<int, shape<batch>>("ids");
    initialized_session s;
    CHECK(s.run(feed(ids, array<int>{1, 3}), flags.scatter_update(ids, constant(true))) ==
          array<bool, shape<4>>{false, true, false, true});
    CHECK(s.run(feed(ids, array<int>(extents(0))), flags.scatter_update(ids, constant(false)))(3));
    CHECK(s.run(feed(ids, array<int>(extents(0))), none.scatter_add(ids, 1.0f)).size() == 0);
    CHECK_THROWS_AS(s.run(feed(ids, array<int>{0}), none.scatter_add(ids, 1.0f)), bad);
}

TEST_CASE("scatter: a step reads what the variable held before it, unless the read is made to run after it") {
    const graph_scope scope{graph()};
    const auto v = variable<float, shape<3>>("v", constant_value(10));
    const auto before = identity(v * 1.0f);
    const auto update = v.scatter_add(constant({1}), constant({5.0f}));
    const auto again = v.scatter_add(constant({1}), constant({100.0f}));
    tensor<float, shape<3>> after;
    {
        const control_dependencies then(update);
        after = identity(v * 1.0f);
    }
    initialized_session s;
    const auto [b, a] = s.run(before, after);
    CHECK(b(1) == 10);
    CHECK(a(1) == 15);
    // Two of them in a step both take place; the rows of a variable may update it.
    s.run(group(update, again));
    CHECK(s.run(v)(1) == 120);
    CHECK(s.run(v.scatter_update(constant({0, 1}), gather(v, constant({1, 0})))) ==
          array<float, shape<3>>{120, 10, 10});
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 18: scattering into a variable that has no value is an error that names it") {
    const auto v = variable<float, shape<3>>("early", zeros());
    session s;
    CHECK_ERROR(failed_precondition_error, "variable \"early\"", s.run(v.scatter_add(constant({1}), 1.0f)));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: scatter updates by several threads never tear and none is lost") {
    const auto v = variable<float, shape<8, 500>>("v", zeros());
    const auto update = operation(v.scatter_add(constant({1, 6, 1}), 1.0f).node());
    const auto difference = max(v) - 2.0f * sum(slice<range{6, 7}, range{3, 4}>(v));
    initialized_session s;
    std::atomic<int> torn{0};
    on_threads(4, [&](int t) {
        for (int i = 0; i < 100; ++i) {
            if (t % 2 == 0) s.run(update);
            else if (s.run(difference).item() != 0) ++torn;
        }
    });
    CHECK(torn == 0);
    CHECK(s.run(v)(1, 499) == 400);
}

TEST_CASE_FIXTURE(in_graph, "scatter: untyped, with the rule's words, and through JSON") {
    const any_tensor v = variable<float, shape<4, 2>>("v", zeros());
    const any_tensor x = placeholder<float, shape<dyn, 3>>("x"), ids = placeholder<int, shape<dyn>>("ids");
    const any_tensor fits = placeholder<float, shape<dyn, dyn>>("fits");
    const auto way = scatter_op::way::add;
    CHECK_ERROR(bad, "scatter: value does not fit the variable: [4, 2] x [?] x [?, 3]",
                untyped::scatter(way, v, ids, x));
    CHECK_ERROR(bad, "element type must be an integer", untyped::scatter(way, v, x, x));
    CHECK_ERROR(bad, "x is no variable but a placeholder", untyped::scatter(way, x, ids, x));
    CHECK(untyped::scatter(way, v, ids, fits).name() == "v/scatter_add");
    initialized_session s;
    const graph copy = graph_from_json(to_json(g));
    session t(copy);
    t.run_untyped({}, {}, {copy.tensor("v/assign").operation()});
    CHECK(t.run_untyped(test::fed(copy.tensor("ids"), array<int>{3, 3}.untyped(), copy.tensor("fits"),
                                  array<float>{{1, 2}, {3, 4}}.untyped()),
                        {copy.tensor("v/scatter_add")})[0]
              .data<float>()[7] == 6);
    std::string other = to_json(g);
    other.replace(other.find("\"how\":1"), 7, "\"how\":9");
    CHECK_ERROR(bad, "how", graph_from_json(other));
}
