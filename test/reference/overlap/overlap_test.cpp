#include <doctest/doctest.h>

#include <algorithm>

#include <tenon/tenon.hpp>

#include "own_graph.hpp"
#include "reference/overlap/overlap.hpp"

// What may happen, where it is counted in the head.

namespace tn = tenon;
using namespace reference;

namespace {

const queue_rules rules{queue_kind::fifo, 2, 0, {{tn::element_type::int64, {}}}};
const bindings here{[](const tn::node&) { return 0; }, [](const tn::node&) { return 0; }};

std::vector<world> begins(values& v) {
    auto zero = std::make_shared<tn::any_array>(tn::element_type::int64, tn::extents{});
    *zero->data<std::int64_t>() = 0;
    return {{{queue_model(rules)}, {v.number_of(zero)}}};
}
std::vector<std::int64_t> variables(const exploration& e, const values& v) {
    std::vector<std::int64_t> all;
    for (const world& w : e.ends) all.push_back(*v[w.variables[0]]->data<std::int64_t>());
    std::sort(all.begin(), all.end());
    return all;
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "what two threads add is not lost, what they compute of what they read may be") {
    const auto x = tn::variable("x", std::int64_t{0});
    request add, set;
    add.fetches = {x.assign_add(1)};
    set.fetches = {x.assign(x + std::int64_t{1})};
    values v;
    const auto of_two = [&](const request& r) {
        const std::vector<lane> lanes(2, lane{{{&r, &here}}});
        return variables(explore(begins(v), lanes, v), v);
    };
    CHECK(of_two(add) == std::vector<std::int64_t>{2});
    CHECK(of_two(set) == std::vector<std::int64_t>{1, 2});
}

TEST_CASE_FIXTURE(in_graph, "an element goes to one of two, and the other waits for ever") {
    const tn::fifo_queue<std::int64_t> q(2);
    request put, take;
    put.targets = {q.enqueue(1)};
    take.fetches = {q.dequeue()};
    values v;
    const std::vector<lane> balanced{{{{&put, &here}, {&put, &here}}}, {{{&take, &here}}}, {{{&take, &here}}}};
    CHECK_FALSE(explore(begins(v), balanced, v).may_wait_for_ever);
    const std::vector<lane> short_of_one{{{{&put, &here}}}, {{{&take, &here}}}, {{{&take, &here}}}};
    const exploration e = explore(begins(v), short_of_one, v);
    CHECK(e.may_wait_for_ever);
    CHECK(e.ends.size() == 1);
    CHECK(e.ends[0].queues[0].size() == 0);
}

TEST_CASE(
    "SEMANTICS 17: a step that is late or stopped has changed no variable, and what it did not use is in its queue") {
    const own_graph g;
    const auto x = tn::variable("x", std::int64_t{0});
    const tn::fifo_queue<std::int64_t> q(4);
    request put, first, second, two, add;
    put.targets = {q.enqueue(1)};
    const auto a = q.dequeue(), b = q.dequeue();
    two.fetches = {a, b};
    add.fetches = {x.assign_add(1), a};
    first.fetches = {a};
    values v;
    const auto ends = [&](const std::vector<overlapping_step>& steps) { return explore(begins(v), {{steps}}, v).ends; };
    const auto late = tn::error_code::deadline_exceeded;

    SUBCASE("two dequeues of one element") {
        const std::vector<world> all = ends({{&put, &here}, {&two, &here}});
        REQUIRE(all.size() == 1);
        CHECK(all[0].queues[0].size() == 1);
    }
    SUBCASE("an update beside a dequeue that waits in vain") {
        const exploration e = explore(begins(v), {{{{&add, &here}}}}, v);
        CHECK(e.may_wait_for_ever);
        CHECK(variables(e, v) == std::vector<std::int64_t>{0});
    }
    SUBCASE("at any time: both or neither") {
        for (const world& w : ends({{&put, &here}, {&add, &here, late}}))
            CHECK(*v[w.variables[0]]->data<std::int64_t>() == (w.queues[0].size() == 0));
        CHECK(ends({{&put, &here}, {&add, &here, late}}).size() == 2);
    }
    SUBCASE("what was computed of an element is lost with it") {
        request moved;
        const tn::fifo_queue<std::int64_t> other(1);
        const bindings both{[&](const tn::node& n) { return &n == a.node()->inputs[0].node ? 0 : 1; },
                            [](const tn::node&) { return 0; }};
        const auto behind = [&] {
            const tn::control_dependencies after(other.enqueue(a));
            return other.enqueue(a);
        }();
        moved.targets = {behind};
        std::vector<world> start = begins(v);
        start[0].queues.emplace_back(rules);
        request fill{.targets = {other.enqueue(7)}};
        const auto all = explore(start, {{{{&put, &both}, {&fill, &both}, {&moved, &both}}}}, v).ends; // of capacity 2
        REQUIRE(all.size() == 1);
        CHECK(all[0].queues[0].size() == 0);
        CHECK(all[0].queues[1].size() == 2);
    }
}
