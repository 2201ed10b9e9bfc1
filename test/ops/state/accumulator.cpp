#include "tests.hpp"

// Accumulators as ops: SEMANTICS 17, 25, 26 and 41. What the resource does by itself is in resources/accumulator.cpp.

namespace {

using two = tn::shape<2>;
constexpr double soon = 0.02;

// A graph whose accumulator all graphs of a task share by this name.
struct user {
    explicit user(const tn::task& on, const std::string& container = {}) : sess({on}, made(container)) {}
    tn::graph made(const std::string& container) {
        const tn::graph_scope in(g);
        const tn::container_scope there(container);
        const tn::accumulator<float, two> sum({.shared_name = "sum", .name = "sum"});
        gradient = tn::placeholder<float, two>("gradient");
        step = tn::placeholder<std::int64_t, tn::shape<>>("step");
        counted = sum.apply(gradient, step);
        one = sum.take(1);
        three = sum.take(3);
        count = sum.count();
        dropped = sum.dropped();
        at = sum.step();
        set = sum.set_step(step);
        return g;
    }
    bool apply(float a, float b, std::int64_t in_step) {
        return sess.run(tn::feed(gradient, tn::array<float, two>{a, b}), tn::feed(step, in_step), counted).item();
    }
    tn::graph g;
    tn::tensor<float, two> gradient, one, three;
    tn::tensor<std::int64_t, tn::shape<>> step, count, dropped, at;
    tn::tensor<bool, tn::shape<>> counted;
    tn::operation set;
    tn::session sess;
};

} // namespace

TEST_CASE("S41: sessions of a task share an accumulator; a take waits, and gives the average") {
    const tn::task task;
    user a(task), b(task), other(task, "other");
    auto waits = a.sess.callable(tn::feeds(), tn::fetches(a.three)).start();
    CHECK(a.apply(1, 2, 0));
    CHECK(b.apply(3, 4, 0));
    CHECK(other.apply(100, 100, 0));
    CHECK_FALSE(waits.has_ended());
    CHECK(b.apply(5, 9, 0));
    auto [average] = waits.get();
    CHECK(average(0) == 3);
    CHECK(average(1) == 5);
    CHECK(a.sess.run(a.at).item() == 1);
    CHECK_FALSE(b.apply(7, 7, 0));
    CHECK(a.sess.run(a.dropped).item() == 1);
    a.sess.run(tn::feed(a.step, std::int64_t{0}), a.set);
    CHECK(b.apply(7, 7, 0));
    CHECK(b.sess.run(b.count).item() == 1);
    CHECK(other.sess.run(other.count).item() == 1);
}

TEST_CASE("S17: a take that waits too long says what for; a step that fails after it gives the gradients back") {
    const tn::task task;
    user a(task);
    CHECK(a.apply(2, 4, 0));
    CHECK_ERROR(tn::deadline_exceeded_error, "accumulator \"sum\" to have 3 gradients; it has 1",
                a.sess.run_for(soon, a.three));
    CHECK(a.sess.run(a.count).item() == 1);
    const tn::operation fails = [&] {
        const tn::graph_scope in(a.g);
        const tn::control_dependencies after(a.one);
        return tn::fifo_queue<float>(1).dequeue().operation();
    }();
    CHECK_THROWS_AS(a.sess.run_for(soon, fails), tn::deadline_exceeded_error);
    CHECK(a.sess.run(a.count).item() == 1);
    CHECK(a.sess.run(a.at).item() == 0);
    CHECK(a.sess.run(a.one)(1) == 4);
}

TEST_CASE("S26: one that exists as another is refused, and both are named; a fed gradient of other sizes, too") {
    const tn::task task;
    user a(task);
    CHECK(a.apply(2, 4, 0));
    const own_graph g;
    tn::session s({task}, g);
    const tn::accumulator<float, tn::shape<3>> longer({.shared_name = "sum"});
    CHECK_ERROR(tn::invalid_argument_error,
                "accumulator \"sum\" exists as accumulator of float[2], not as accumulator of float[3]",
                s.run(longer.count()));
    const tn::row_accumulator<float, two> rows({.shared_name = "sum"});
    CHECK_ERROR(tn::invalid_argument_error, "not as accumulator of rows of float[2]", s.run(rows.count()));
    CHECK_THROWS_AS((tn::accumulator<float, two>(longer.untyped())), tn::invalid_argument_error);
    CHECK_THROWS_AS(longer.take(0), tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "a gradient has the type of the accumulator",
                longer.untyped().apply({tn::constant({1.f, 2.f})}, tn::constant(std::int64_t{0})));
    CHECK_THROWS_AS(tn::untyped::accumulator(tn::constant(1.f)), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::accumulator({tn::element_type::int32, {2}}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::accumulator({tn::element_type::float32, {tn::dynamic_extent}}),
                    tn::invalid_argument_error);
    CHECK(a.sess.run(a.count).item() == 1);
}

TEST_CASE("numbers that make no sense are refused when a node is made, with op, attribute and value") {
    const tn::graph_scope in{tn::graph()};
    const tn::accumulator<float, two> sum({.name = "sum"});
    const tn::detail::accumulated_type of{tn::element_type::float32, tn::extents{2}, false};
    for (const std::int64_t least : {-1, 0})
        CHECK(message_of<tn::invalid_argument_error>([&] {
                  tn::add<tn::accumulator_take_op>({of, least}, {sum.untyped().handle()});
              }) == "accumulator_take: least must be 1 or more: int64[] x [2], least " + std::to_string(least) +
                        " (inputs sum)");
    const std::int64_t far = std::int64_t{1} << 40;
    CHECK_ERROR(tn::invalid_argument_error, "accumulator: the result would take more than 2^62 bytes",
                tn::untyped::accumulator({tn::element_type::float32, tn::extents{far, far}}));
}

TEST_CASE_FIXTURE(in_graph, "a turn of another size than three is refused by the step") {
    const tn::untyped::accumulator sum({tn::element_type::float32, tn::extents{2}});
    const tn::any_tensor turn = tn::constant({std::int64_t{0}, std::int64_t{1}});
    const tn::operation deposit = sum.deposit({tn::constant({1.f, 2.f})}, turn);
    tn::session s;
    CHECK_ERROR(tn::invalid_argument_error, "its ticket and its step, not", s.run(deposit));
}

TEST_CASE("S41: rows of indices of any sizes are averaged; an index out of range is an error, and nothing is added") {
    const tn::graph_scope in{tn::graph()};
    const tn::row_accumulator<float, tn::shape<4, 2>> table;
    const tn::array<float, tn::shape<2, 2, 2>> values{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
    const auto add = table.apply(tn::constant({{1, 3}, {3, 0}}), tn::constant(values.copy()), 0);
    const auto at = tn::placeholder<std::int64_t, tn::shape<1>>("at");
    const auto one = table.apply(at, tn::constant({{4.f, 4.f}}), 0);
    const auto [indices, rows] = table.take(2);
    tn::session s;
    CHECK(s.run(add).item());
    CHECK_ERROR(tn::invalid_argument_error, "index 4 at 0 is not below 4",
                s.run(tn::feed(at, tn::array<std::int64_t, tn::shape<1>>{4}), one));
    CHECK(s.run(tn::feed(at, tn::array<std::int64_t, tn::shape<1>>{0}), one).item());
    auto [i, r] = s.run(indices, rows);
    REQUIRE(i.size() == 3);
    CHECK((i(0) == 0 && i(1) == 1 && i(2) == 3));
    CHECK((r(0, 0) == 5.5f && r(0, 1) == 6 && r(1, 0) == 0.5f && r(2, 0) == 4 && r(2, 1) == 5));
}
