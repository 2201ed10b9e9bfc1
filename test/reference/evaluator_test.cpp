#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

#include "own_graph.hpp"
#include "reference/evaluator.hpp"

// The evaluator on graphs whose results are written in SEMANTICS, or follow from it in the head.

namespace tn = tenon;
using namespace reference;

namespace {

struct one_step {
    reference::state state;
    reference::request asked;

    outcome run() const { return evaluate(asked, state, 7); }
    template <class... T> outcome fetch(const T&... t) {
        asked.fetches = {tn::any_tensor(t)...};
        return run();
    }
    void feed(const tn::any_tensor& t, float value) {
        tn::any_array a(t.element(), {});
        *a.data<float>() = value;
        asked.feeds.push_back({t, std::move(a)});
    }
    void set(const tn::any_tensor& variable, float value) {
        auto a = std::make_shared<tn::any_array>(tn::element_type::float32, tn::extents{});
        *a->data<float>() = value;
        state.variables[reference::identity_of(*variable.node())] = a;
    }
};
float number(const outcome& o, std::size_t fetch) { return *o.fetches.at(fetch).value->data<float>(); }
float left(const outcome& o, const tn::any_tensor& v) {
    return *o.variables.at(reference::identity_of(*v.node())).value->data<float>();
}
using codes = std::set<tn::error_code>;

} // namespace

TEST_CASE("SEMANTICS 20: reads give the value from before the step's updates, an update the value after it") {
    const own_graph g;
    const auto v = tn::variable("v", 1.0f);
    const auto up = v.assign_add(1.0f);
    const auto together = (v * 2.0f + up).materialize();
    const auto view = (up - tn::identity(tn::stop_gradient(v))).materialize();
    one_step s;
    s.set(v, 5);
    const outcome o = s.fetch(v, up, together, view);
    CHECK(number(o, 0) == 5);
    CHECK(number(o, 1) == 6);
    CHECK(number(o, 2) == 16);
    CHECK(number(o, 3) == 1);
    CHECK(left(o, v) == 6);
    CHECK(number(s.fetch(v), 0) == 5); // nothing else runs
    CHECK(left(s.run(), v) == 5);
}

TEST_CASE("SEMANTICS 15: what is made to run after an update reads what it left, by control and then by data too") {
    const own_graph g;
    const auto v = tn::variable("v", 1.0f);
    const auto up = v.assign_add(1.0f);
    const auto old = tn::identity(v);
    const auto of_up = (up * 1.0f).materialize();
    const tn::control_dependencies after(of_up);
    const auto late = (v * 10.0f).materialize();
    const auto view = (old * 10.0f).materialize();
    one_step s;
    s.set(v, 5);
    const outcome o = s.fetch(late, view);
    CHECK(number(o, 0) == 60);
    CHECK(number(o, 1) == 50);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: updates go one after another as they were made; each is applied once") {
    const auto v = tn::variable<float, tn::shape<2>>("v", tn::zeros());
    const auto first = v.scatter_add(tn::constant({0}), 1.0f);
    const auto second = v.scatter_add(tn::constant({0}), 2.0f);
    one_step s;
    s.state.variables["/v"] =
        std::make_shared<const tn::any_array>(tn::any_array::zeros(tn::element_type::float32, tn::extents{2}));
    const outcome o = s.fetch(second, first, v);
    CHECK(number(o, 0) == 3);
    CHECK(number(o, 1) == 1);
    CHECK(number(o, 2) == 0);
    CHECK(left(o, v) == 3);
}

TEST_CASE("SEMANTICS 20: assign_add and optimisers change what the updates before left; a program's own arithmetic "
          "does not") {
    const own_graph g;
    const auto v = tn::variable("v", 1.0f);
    const auto a = v.assign_add(1.0f);
    const auto b = v.assign_add(v * 10.0f);
    const auto again = v.assign_add(1.0f); // computed by a's node
    const auto c = v.assign(v + 1.0f);
    const tn::operation down = tn::gradient_descent(0.5).apply_gradients({{v, v}}, {.advance_global_step = false});
    one_step s;
    s.set(v, 4);
    s.asked.targets = {down};
    const outcome o = s.fetch(a, b, again);
    CHECK(number(o, 0) == 5);
    CHECK(number(o, 1) == 45);
    CHECK(number(o, 2) == 46);
    CHECK(left(o, v) == 44);
    CHECK(number(s.fetch(c, again), 0) == 5);
    CHECK(left(s.fetch(c, again), v) == 3); // assigned after again, changed by the optimiser: 4 + 1 - 4 / 2
    s.feed(v, 100);
    CHECK(left(s.fetch(a, again), v) == 50); // 100 - 100 / 2
    s.state.variables.clear();
    s.asked = {};
    CHECK(s.fetch(a, again).errors == codes{tn::error_code::failed_precondition});
    const auto first = v.assign(7.0f);
    CHECK(left(s.fetch(v.assign_sub(1.0f), first), v) == 6);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: what is fed does not run, and what waits for it does not wait") {
    const auto v = tn::variable("v", 1.0f);
    const auto up = v.assign_add(1.0f);
    const auto after_up = [&] {
        const tn::control_dependencies after(up);
        return (v * 10.0f).materialize();
    }();
    one_step s;
    s.set(v, 5);
    s.feed(up, 100);
    const outcome o = s.fetch(after_up, up);
    CHECK(number(o, 0) == 50);
    CHECK(number(o, 1) == 100);
    CHECK(left(o, v) == 5);
    s.asked.targets = {up.operation()};
    CHECK(left(s.fetch(v), v) == 5);

    const auto p = tn::placeholder<float>("p");
    const auto fed_variable = (v + p).materialize();
    s.asked = {};
    s.feed(v, 40);
    s.feed(p, 2);
    CHECK(number(s.fetch(fed_variable), 0) == 42);
    CHECK(left(s.fetch(up), v) == 41); // computed from what is fed, kept by the variable
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: an op of several outputs runs if one is needed that is not fed") {
    const auto x = tn::variable("x", tn::constant({1.0f, 2.0f}));
    const auto parts = tn::untyped::unstack(x, 2);
    one_step s;
    auto a = std::make_shared<tn::any_array>(tn::element_type::float32, tn::extents{2});
    a->data<float>()[0] = 1;
    a->data<float>()[1] = 2;
    s.state.variables["/x"] = a;
    s.feed(parts[0], 9);
    const outcome o = s.fetch(parts[0], parts[1]);
    CHECK(number(o, 0) == 9);
    CHECK(number(o, 1) == 2);
    s.state.variables.clear();
    CHECK(s.fetch(parts[0]).errors.empty()); // x is not read
    CHECK(s.run().fetches.size() == 1);
    CHECK(s.fetch(parts[1]).errors == codes{tn::error_code::failed_precondition});
}

TEST_CASE("SEMANTICS 16, 18: a placeholder that is not fed, a size of two values, a variable that has no value") {
    const own_graph g;
    const auto p = tn::placeholder<float>("p");
    const auto v = tn::variable("v", 1.0f);
    one_step s;
    CHECK(s.fetch(p + 1.0f).errors == codes{tn::error_code::invalid_argument});
    CHECK(s.fetch(tn::zeros_like(p)).errors.empty()); // its sizes are known
    CHECK(s.fetch(v).errors == codes{tn::error_code::failed_precondition});
    CHECK(s.fetch(v.assign(2.0f)).errors.empty());

    const auto first = v.assign(3.0f);
    const tn::control_dependencies after(first);
    const auto late = tn::identity(v);
    CHECK(number(s.fetch(late), 0) == 3); // it has one by then
}

TEST_CASE("SEMANTICS 21: a node draws new numbers in each step, and the same from the same count of runs") {
    const own_graph g;
    const auto x = tn::random_uniform<float, tn::shape<>>(0, 1, 3);
    one_step s;
    const outcome first = s.fetch(x);
    s.state = reference::after(first);
    const outcome second = s.fetch(x, x);
    CHECK(number(first, 0) != number(second, 0));
    CHECK(number(second, 0) == number(second, 1));
    CHECK(s.state.runs.begin()->second == 1);
    CHECK(reference::after(second).runs.begin()->second == 2);
}

TEST_CASE_FIXTURE(in_graph, "noise moves what is added up, and nothing else") {
    const auto x = tn::constant({1.0f, 2.0f, 4.0f});
    const auto exact = (x + x * x).materialize();
    const auto added = tn::sum(exact);
    one_step s;
    const outcome calm = s.fetch(exact, added);
    const outcome moved = evaluate(s.asked, s.state, 7, {16, 1});
    CHECK(calm.fetches[0].exact);
    CHECK(!calm.fetches[1].exact);
    CHECK(*calm.fetches[0].value == *moved.fetches[0].value);
    CHECK(number(calm, 1) == 28);
    CHECK(number(moved, 1) != 28);
    CHECK(number(moved, 1) == doctest::Approx(28));
}

TEST_CASE("sizes that values tell: what comes after them is settled as they come, and one who asks for sizes alone has "
          "them told") {
    const own_graph g;
    const auto x = tn::constant({1.0f, -2.0f, 3.0f, -4.0f});
    const auto kept = tn::boolean_mask(x, (x > 0.0f).materialize());
    const auto twice = (kept + kept).materialize();
    const auto zeros = tn::zeros_like(kept);
    const auto [values, where] = tn::unique(tn::constant({7, 5, 7}));
    one_step s;
    const outcome o = s.fetch(twice, zeros, values, where, tn::nonzero(x - 1.0f));
    REQUIRE(o.fetches.size() == 5);
    CHECK(*o.fetches[0].value == tn::any_array(tn::array<float, tn::shape<2>>{2, 6}));
    CHECK(*o.fetches[1].value == tn::any_array(tn::array<float, tn::shape<2>>{0, 0}));
    CHECK(*o.fetches[2].value == tn::any_array(tn::array<int, tn::shape<2>>{7, 5}));
    CHECK(*o.fetches[3].value == tn::any_array(tn::array<int, tn::shape<3>>{0, 1, 0}));
    CHECK(o.fetches[4].value->extents() == tn::extents(3, 1));
    const auto fewer = tn::boolean_mask(x, (x > 2.0f).materialize());
    CHECK(s.fetch(tn::any_tensor(tn::untyped::add_n({kept, fewer}))).errors == codes{tn::error_code::invalid_argument});
}

TEST_CASE("SEMANTICS 15: a variable in parts that is read as a whole after updates is joined of what they left") {
    const own_graph g;
    const auto t = tn::variable<float, tn::shape<3>>("t", tn::zeros(), {.partition = {.parts = 2}});
    const auto up = t.scatter_add(tn::constant({0, 2, 2}), 1.0f);
    const auto old = (t * 10.0f).materialize();
    const tn::any_tensor first(up.node()->inputs[0]); // the update of part 0
    const tn::control_dependencies after(first);
    const auto late = (t * 10.0f).materialize();
    one_step s;
    for (const tn::any_tensor& p : tn::parts_of(t))
        s.state.variables[reference::identity_of(*p.node())] =
            std::make_shared<const tn::any_array>(tn::any_array::zeros(tn::element_type::float32, p.extents()));
    const outcome o = s.fetch(old, late, up);
    REQUIRE(o.errors.empty());
    CHECK(*o.fetches[0].value == tn::any_array(tn::array<float, tn::shape<3>>{0, 0, 0}));
    CHECK(*o.fetches[1].value == tn::any_array(tn::array<float, tn::shape<3>>{10, 0, 0})); // after that of one part
    CHECK(*o.fetches[2].value == tn::any_array(tn::array<float, tn::shape<3>>{1, 0, 2}));
}

TEST_CASE("a step that fails: what its updates would leave, which of them fail, and whether some may have been made") {
    const own_graph g;
    const auto v = tn::variable("v", 1.0f), w = tn::variable("w", 1.0f), empty = tn::variable("empty", 1.0f);
    const auto good = v.assign_add(1.0f), bad = w.assign(empty + 0.0f);
    one_step s;
    s.set(v, 5);
    s.set(w, 6);
    const outcome o = s.fetch(good, bad);
    CHECK(o.errors == codes{tn::error_code::failed_precondition});
    CHECK(o.begins);
    CHECK(left(o, v) == 6);
    CHECK(o.not_made == std::set<std::string>{"/w"});
    CHECK_FALSE(o.may_be_in_part);
    const auto behind = [&] {
        const tn::control_dependencies after(good);
        return tn::boolean_mask(tn::constant({1.0f}), tn::constant({true}));
    }();
    CHECK(s.fetch(behind, bad).may_be_in_part);
    CHECK_FALSE(s.fetch(good, tn::placeholder<float>("p")).begins);
}
