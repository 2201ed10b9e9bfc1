#include <tenon/runtime/plan/order.hpp>

#include "tests.hpp"
#include "runtime/plan/handmade.hpp"

// The order of items, above all of those that read and update variables.

namespace rt = tenon::runtime;
using handmade::maker;
using tn::opcode;

namespace {

// The items that make these values, by their places in the order.
std::vector<int> places(maker& m, const std::vector<int>& values, bool together = false) {
    rt::bind_variables(m.program, m.options);
    const rt::ordering o(m.program, m.options);
    const std::vector<int> order = o.order(together);
    std::vector<int> at;
    for (const int v : values) {
        const auto found = std::find(order.begin(), order.end(), m.number_of(v));
        at.push_back(found == order.end() ? -1 : static_cast<int>(found - order.begin()));
    }
    return at;
}

int copies(const rt::program& p) {
    int n = 0;
    for (const rt::program_item& i : p.items) n += !i.removed && i.op == &tn::identity_definition;
    return n;
}

} // namespace

TEST_CASE("order: items run in the order in which the graph was made, updates as soon as they can") {
    maker m;
    const int x = m.feed(), v = m.variable(), a = m.fused(opcode::exp, {x}), b = m.fused(opcode::sin, {x}),
              update = m.assign(v, a), c = m.fused(opcode::cos, {x});
    for (const int f : {a, b, c}) m.fetch(f);
    const std::vector<int> at = places(m, {a, update, b, c});
    CHECK(std::is_sorted(at.begin(), at.end()));
    CHECK(at.front() >= 0);
}

TEST_CASE("order: together, updates come last, with what reads what they leave; then what is computed of that") {
    maker m;
    const int x = m.feed(), v = m.variable(), w = m.variable(), a = m.fused(opcode::exp, {x}), first = m.assign(v, a),
              of_first = m.fused(opcode::sin, {first}), then = m.fused(opcode::cos, {of_first}),
              b = m.fused(opcode::tanh, {w}), second = m.assign(w, m.fused(opcode::exp, {b}));
    for (const int f : {then, second}) m.fetch(f);
    const std::vector<int> at = places(m, {w, b, first, of_first, second, then}, true);
    CHECK(std::is_sorted(at.begin(), at.end()));
}

TEST_CASE("order: who reads a version of a variable runs before the update that ends it, though it was made later") {
    maker m;
    const int v = m.variable(), first = m.assign(v, m.feed(), {.target = true}), second = m.assign(v, m.feed());
    const int of_found = m.fused(opcode::exp, {v}), of_first = m.fused(opcode::sin, {first}),
              of_second = m.fused(opcode::cos, {second});
    for (const int f : {of_found, of_first, of_second}) m.fetch(f);
    const std::vector<int> at = places(m, {v, of_found, first, of_first, second, of_second});
    CHECK(std::is_sorted(at.begin(), at.end()));
    CHECK(copies(m.program) == 0);
}

TEST_CASE("order: what runs after an update and reads what was there before it reads a copy") {
    maker m;
    const int v = m.variable(), update = m.assign(v, m.feed());
    const int both = m.fused(opcode::add, {update, v});
    m.fetch(both);
    const std::vector<int> at = places(m, {v, update, both});
    CHECK(std::is_sorted(at.begin(), at.end()));
    CHECK(copies(m.program) == 1);
    const int copy = m.item_of(both).inputs[1];
    CHECK(m.item_of(copy).op == &tn::identity_definition);
    CHECK(m.item_of(copy).inputs[0] == v);
    CHECK(m.item_of(both).inputs[0] == update);
}

TEST_CASE("order: updates that read each other's variables are no cycle") {
    maker m;
    const int v = m.variable(), w = m.variable();
    const int to_v = m.assign(v, w), to_w = m.assign(w, v);
    m.item_of(to_v).target = m.item_of(to_w).target = true;
    const std::vector<int> at = places(m, {to_v, to_w});
    CHECK(at[0] >= 0);
    CHECK(at[1] >= 0);
    CHECK(copies(m.program) == 1);
}

TEST_CASE(
    "order: an update's value that is computed for it alone is written into the variable, after who reads the old") {
    maker m;
    const int v = m.variable(), made = m.fused(opcode::exp, {m.feed()}), update = m.assign(v, made, {.target = true});
    const int reader = m.fused(opcode::sin, {v});
    m.fetch(reader);
    const std::vector<int> at = places(m, {v, reader, made, update});
    CHECK(std::is_sorted(at.begin(), at.end()));
    CHECK(m.program.value(made).variable == m.program.value(v).variable);
    maker two;
    const int u = two.variable(), shared = two.fused(opcode::exp, {two.feed()});
    two.assign(u, shared, {.target = true});
    two.fetch(shared);
    places(two, {});
    CHECK(two.program.value(shared).variable == nullptr);
}

TEST_CASE("order: a removed item that others wait for stands for what it waited for itself") {
    maker m;
    const int x = m.feed(), late = m.fused(opcode::exp, {m.fused(opcode::exp, {m.fused(opcode::exp, {x})})});
    const int between = m.identity(x, {.after = {m.number_of(late)}});
    const int y = m.fused(opcode::sin, {x}, {.after = {m.number_of(between)}});
    m.fetch(late);
    m.fetch(y);
    m.item_of(between).removed = true;
    const std::vector<int> at = places(m, {late, y});
    CHECK(at[0] < at[1]);
}

TEST_CASE("order: what is fetched has memory of its own") {
    maker m;
    const int x = m.feed(), v = m.variable(), y = m.fused(opcode::exp, {x});
    for (const int f : {x, v, y, y}) m.fetch(f);
    places(m, {});
    CHECK(copies(m.program) == 3);
    CHECK(m.program.fetches[2] == y);
    for (std::size_t f = 0; f < 4; ++f) CHECK(m.program.value(m.program.fetches[f]).fetch == static_cast<int>(f));
}

TEST_CASE("order: items that wait for each other are an error of the library, not an order without them") {
    maker m;
    const int x = m.feed(), a = m.fused(opcode::exp, {x}), b = m.fused(opcode::sin, {x}, {.after = {m.number_of(a)}});
    m.item_of(a).predecessors.push_back(m.number_of(b));
    m.fetch(a);
    m.fetch(b);
    CHECK_THROWS_AS(places(m, {}), tn::internal_error);
}

TEST_CASE("order: on streams, what the first sum over devices needs comes first, and who reads a sum last") {
    static const tn::op_definition sum = [] {
        tn::op_definition d = tn::identity_definition;
        d.name = "summed_by_order_test";
        d.flags = tn::op_flags::sums;
        return d;
    }();
    const auto order = [](int device) {
        maker m(1, tn::simulated_gpu(1, std::size_t{1} << 20));
        const handmade::with there{.device = device};
        const int x = m.feed(), other = m.fused(opcode::exp, {x}, there), of_second = m.fused(opcode::sin, {x}, there),
                  of_first = m.fused(opcode::cos, {x}, there), first = m.item(sum, {}, {of_first}, there),
                  reads_first = m.fused(opcode::tanh, {first}, there), second = m.item(sum, {}, {of_second}, there),
                  reads_other = m.fused(opcode::sin, {other}, there);
        for (const int f : {reads_first, second, reads_other}) m.fetch(f);
        return places(m, {of_first, first, of_second, second, other, reads_other, reads_first});
    };
    const std::vector<int> on_streams = order(1);
    CHECK(std::is_sorted(on_streams.begin(), on_streams.end()));
    CHECK(order(0) == std::vector{2, 3, 1, 5, 0, 6, 4}); // without streams: as they were made
}

TEST_CASE("edges: each once, in order, with all that it is there for; reversed, too") {
    using rt::edge_kind;
    const rt::edges e(3, {{2, 1, edge_kind::memory}, {2, 0, edge_kind::data}, {2, 1, edge_kind::control}});
    CHECK(e[0].empty());
    REQUIRE(e[2].size() == 2);
    CHECK(e[2][0] == 0);
    CHECK(e[2][1] == 1);
    CHECK(e.is(2, 1, edge_kind::control));
    CHECK(e.is(2, 1, edge_kind::memory));
    CHECK_FALSE(e.is(2, 1, edge_kind::data));
    CHECK_FALSE(e.is(2, 0, edge_kind::control));
    const rt::edges back = e.reversed();
    REQUIRE(back[1].size() == 1);
    CHECK(back[1][0] == 2);
    CHECK(back.why(1, 0) == e.why(2, 1));
    CHECK(back[2].empty());
}

TEST_CASE("order: each dependency says why it is there: data, control, a variable") {
    using rt::edge_kind;
    maker m;
    const int x = m.feed(), v = m.variable(), a = m.fused(opcode::exp, {x}), reader = m.fused(opcode::sin, {v}),
              update = m.assign(v, a, {.target = true}), c = m.fused(opcode::cos, {x}, {.after = {m.number_of(a)}}),
              both = m.fused(opcode::tanh, {a}, {.after = {m.number_of(a)}});
    for (const int f : {a, reader, c, both}) m.fetch(f);
    rt::bind_variables(m.program, m.options);
    const rt::ordering o(m.program, m.options);
    const std::vector<int> order = o.order();
    const rt::edges e(order.size(), o.dependencies(order));
    const auto reasons = [&](int of, int before) {
        const auto at = [&](int value) {
            return std::find(order.begin(), order.end(), m.number_of(value)) - order.begin();
        };
        const auto s = static_cast<std::size_t>(at(of));
        const auto found = std::find(e[s].begin(), e[s].end(), static_cast<int>(at(before)));
        if (found == e[s].end()) return 0;
        return static_cast<int>(e.why(s, static_cast<std::size_t>(found - e[s].begin())));
    };
    constexpr int data = static_cast<int>(edge_kind::data), control = static_cast<int>(edge_kind::control),
                  variable = static_cast<int>(edge_kind::variable);
    CHECK(reasons(update, a) == data);
    CHECK(reasons(update, reader) == variable);
    CHECK(reasons(c, a) == control);
    CHECK(reasons(both, a) == (data | control));
    CHECK(reasons(c, reader) == 0);
}
