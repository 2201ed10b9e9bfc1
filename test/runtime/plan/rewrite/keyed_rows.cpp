#include "tests.hpp"
#include "ops/random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

// Steps of optimisers on rows that indices name, which are one pass over these rows, beside the same made op by op.

namespace {

struct rows_of {
    tn::element_type element;
    tn::extents table, indices;
    std::int64_t names; // indices are below this, so that they meet the more often
    int summed = 0;     // the last axes of the indices, whose rows are added up before they are used
    bool mean = false;
    bool clipped = false;
    bool masters = false;
};

// A step, in the graph in force, which knows the variables. Gradients of sums are fed, since sums of gathered rows are themselves made otherwise
// where they are one pass.
struct training {
    tn::any_tensor table, indices, weights;
    tn::operation train;
};
training train(const rows_of& of, const tn::optimizer& o, tn::element_type index) {
    const auto table = tn::untyped::variable("table", {of.element, of.table}, tn::uniform(-1, 1, 5));
    const auto indices = tn::untyped::placeholder(index, of.indices);
    tn::any_tensor used = tn::untyped::gather(table, indices);
    tn::index_list axes;
    for (int a = of.indices.rank() - of.summed; a < of.indices.rank(); ++a) axes.push_back(a);
    if (of.mean) used = tn::untyped::mean(used, axes);
    else if (of.summed > 0) used = tn::untyped::sum(used, axes);
    const auto weights = tn::untyped::placeholder(of.element, used.extents());
    auto pairs = tn::optimizer::compute_gradients(
        tn::untyped::sum(of.summed > 0 ? tn::untyped::multiply(used, weights) : tn::untyped::square(used)));
    if (of.clipped) pairs = tn::clip_by_global_norm(pairs, 0.5);
    return {table, indices, weights, o.apply_gradients(pairs, {.float_masters = of.masters})};
}

tn::any_array names(const rows_of& of, tn::element_type e, int step) {
    tn::any_array made(e, of.indices);
    for (std::int64_t k = 0; k < made.elements(); ++k) {
        const std::int64_t name = (k * k + 3 * k * step + step) % of.names;
        if (e == tn::element_type::int32) made.data<std::int32_t>()[k] = static_cast<std::int32_t>(name);
        else made.data<std::int64_t>()[k] = name;
    }
    return made;
}

struct outcome {
    std::vector<tn::any_array> variables;
    bool is_one_pass;
};
outcome after_steps(const rows_of& of, const tn::optimizer& o, tn::element_type index, bool fuse, int threads) {
    const own_graph g;
    const training t = train(of, o, index);
    initialized_session s(g, {.intra_op_threads = threads, .use_per_session_threads = true, .fuse = fuse});
    const auto fed = [&](int step) {
        auto feeds = tn::test::fed(t.indices, names(of, index, step));
        if (of.summed > 0)
            feeds.push_back({t.weights, tn::test::random_array(of.element, t.weights.extents(),
                                                               1 + static_cast<std::uint64_t>(step))});
        return feeds;
    };
    std::string order;
    for (const std::string& line : s.report_untyped(fed(0), {}, {t.train}).order) order += line + "\n";
    for (int step = 0; step < 4; ++step) s.run_untyped(fed(step), {}, {t.train});
    return {s.run_untyped({}, tn::graph(g).collection(tn::global_variables)), contains(order, "(fused_rows)")};
}

void check_alike(const rows_of& of, const tn::optimizer& o) {
    for (const tn::element_type index : {tn::element_type::int32, tn::element_type::int64}) {
        const outcome apart = after_steps(of, o, index, false, 1);
        CHECK(!apart.is_one_pass);
        for (const int threads : {1, 3}) {
            const outcome joined = after_steps(of, o, index, true, threads);
            INFO(o.name(), " ", to_string(of.table), " ", to_string(of.indices), " below ", of.names, ", ", threads);
            CHECK(joined.is_one_pass);
            REQUIRE(joined.variables.size() == apart.variables.size());
            for (std::size_t v = 0; v < apart.variables.size(); ++v)
                CHECK(std::memcmp(joined.variables[v].data(), apart.variables[v].data(), apart.variables[v].bytes()) ==
                      0);
        }
    }
}

} // namespace

TEST_CASE("a step on rows that indices name is one pass, and its bits are those of ops apart") {
    using enum tn::element_type;
    for (const tn::element_type e : {float32, float64, float16, bfloat16})
        for (const rows_of& of :
             {rows_of{e, {50, 8}, {20}, 50}, rows_of{e, {7, 300}, {4, 5}, 3}, rows_of{e, {9}, {40}, 9},
              rows_of{e, {5, 3, 11}, {6}, 1}, rows_of{e, {4000, 16}, {6000}, 2500}, rows_of{e, {6, 4}, {0}, 6},
              rows_of{e, {6, 1500}, {12}, 6}}) {
            check_alike(of, tn::gradient_descent(0.1));
            check_alike(of, tn::adagrad(0.1));
        }
}

TEST_CASE("all optimisers that take rows, with float masters, and gradients that are clipped") {
    const rows_of of{tn::element_type::float32, {300, 24}, {25, 8}, 150};
    check_alike(of, tn::momentum(0.1, 0.9));
    check_alike(of, tn::rmsprop(0.1));
    check_alike(of, tn::adam(0.1));
    rows_of clipped = of;
    clipped.clipped = true;
    check_alike(clipped, tn::adagrad(0.1));
    rows_of masters = of;
    masters.element = tn::element_type::bfloat16;
    masters.masters = true;
    check_alike(masters, tn::adam(0.1));
}

TEST_CASE("gradients of bags are read where they are not repeated") {
    using enum tn::element_type;
    for (const tn::element_type e : {float32, float64, bfloat16})
        for (const int kind : {0, 1, 2, 3}) {
            rows_of of{e, {40, 20}, {6, 3, 5}, 35};
            of.summed = 1 + (kind & 1);
            of.mean = (kind & 2) != 0;
            check_alike(of, tn::gradient_descent(0.1));
            check_alike(of, tn::adam(0.1));
        }
    check_alike({float32, {2000, 64}, {128, 16}, 1500, 1}, tn::gradient_descent(0.1));
}

TEST_CASE("many equal indices are added up as well as few") {
    check_alike({tn::element_type::float32, {3, 10}, {2000}, 2}, tn::gradient_descent(0.01));
    check_alike({tn::element_type::float32, {3, 10}, {200, 10}, 1, 1}, tn::adagrad(0.01));
}

TEST_CASE("who reads the variables in the same step sees what it sees of ops apart") {
    const auto outcomes = [](bool fuse) {
        const own_graph g;
        const rows_of of{tn::element_type::float32, {30, 6}, {12}, 20};
        const training t = train(of, tn::adam(0.1), tn::element_type::int32);
        const std::vector<tn::any_tensor> all = tn::graph(g).collection(tn::global_variables);
        std::vector<tn::any_tensor> read = all, after;
        {
            const tn::control_dependencies late(t.train);
            for (const tn::any_tensor& v : all) after.push_back(tn::untyped::identity(v));
            for (const tn::any_tensor& v : after) read.push_back(v);
        }
        read.push_back(tn::untyped::gather(t.table, t.indices));
        initialized_session s(g, {.fuse = fuse});
        std::vector<tn::any_array> found;
        for (int step = 0; step < 3; ++step)
            for (tn::any_array& a :
                 s.run_untyped(tn::test::fed(t.indices, names(of, tn::element_type::int32, step)), read, {t.train}))
                found.push_back(std::move(a));
        return found;
    };
    const auto joined = outcomes(true), apart = outcomes(false);
    REQUIRE(joined.size() == apart.size());
    for (std::size_t k = 0; k < joined.size(); ++k)
        CHECK(std::memcmp(joined[k].data(), apart[k].data(), apart[k].bytes()) == 0);
}

TEST_CASE("two updates of a variable in a step, and rows that are not the same for equal indices, stay as they are") {
    const own_graph g;
    const auto table = tn::variable<float, tn::shape<4, 2>>("table", tn::ones());
    const auto indices = tn::constant({1, 3, 1});
    const auto [gradient] = tn::gradients(sum(square(gather(table, indices))), table);
    const auto once = tn::gradient_descent(0.1f).apply_gradients({{gradient, table}}),
               again = tn::gradient_descent(0.1f).apply_gradients({{gradient, table}});
    const auto each = table.scatter_update(indices, gather(table, indices) + tn::constant({{1.0f}, {2.0f}, {3.0f}}));
    const auto sums = tn::add<tn::sum_equal_rows_op>({}, {tn::constant({{1.0f}, {2.0f}, {3.0f}}), indices});
    const auto narrow = tn::untyped::scatter(tn::scatter_op::way::update, table, indices,
                                             tn::untyped::add(gather(table, indices), sums));
    initialized_session s;
    const auto is_one_pass = [](const tn::step_report& r) {
        return std::any_of(r.order.begin(), r.order.end(),
                           [](const std::string& line) { return contains(line, "(fused_rows)"); });
    };
    CHECK(is_one_pass(s.report(once)));
    CHECK(!is_one_pass(s.report(once, again)));
    CHECK(!is_one_pass(s.report(each)));
    CHECK(!is_one_pass(s.report_untyped({}, {narrow})));
    s.run(once, again);
    CHECK(s.run(table)(1, 0) == doctest::Approx(1 - 2 * 0.1 * 4));
}

TEST_CASE("an index out of range, and variables without a value, fail as they do apart, and nothing is changed") {
    const auto failure = [](bool fuse, bool is_initialized, std::int32_t index) {
        const own_graph g;
        const auto table = tn::variable<float, tn::shape<5, 3>>("table", tn::ones());
        const auto indices = tn::placeholder<std::int32_t, tn::shape<2>>("indices");
        const auto values = tn::constant({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
        const auto train = tn::adagrad(0.1).apply_gradients({{tn::gradient_of_rows({indices, values}, table), table}});
        tn::session s(g, {.fuse = fuse});
        if (is_initialized) s.run(tn::initialize_variables());
        const auto step = [&](std::int32_t second) {
            s.run(tn::feed(indices, tn::array<std::int32_t>{0, second}), train);
        };
        if (!is_initialized) return message_of<tn::failed_precondition_error>([&] { step(index); });
        const std::string message = message_of<tn::invalid_argument_error>([&] { step(index); });
        CHECK(s.run(table)(0, 0) == 1);
        step(4);
        CHECK(s.run(table)(0, 0) < 1);
        return message;
    };
    for (const std::int32_t index : {5, -1}) {
        CHECK(failure(true, true, index) == failure(false, true, index));
        CHECK(contains(failure(true, true, index), "index " + std::to_string(index) + " at [1] is out of range"));
    }
    CHECK(failure(true, false, 2) == failure(false, false, 2));
}
