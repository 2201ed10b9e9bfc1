#include <doctest/doctest.h>

#include <algorithm>

#include <tenon/tenon.hpp>

#include "reference/overlap.hpp"

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

TEST_CASE("what two threads add is not lost, what they compute of what they read may be") {
    const tn::graph g;
    const tn::graph_scope in(g);
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

TEST_CASE("an element goes to one of two, and the other waits for ever") {
    const tn::graph g;
    const tn::graph_scope in(g);
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
