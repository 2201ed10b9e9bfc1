#include <tenon/ops/elementwise/fused_group.hpp>
#include <tenon/runtime/plan/grouping.hpp>

#include "tests.hpp"
#include "runtime/plan/handmade.hpp"

// Which small passes become one item.

namespace rt = tenon::runtime;
using handmade::maker;
using tn::opcode;

namespace {

constexpr int gpu = 1;

struct updates : maker {
    updates() : maker(1, tn::simulated_gpu(1, std::size_t{64} << 20)) {}

    // w := exp(x)
    struct one {
        int variable, pass, assign;
    };
    one update(const tn::extents& shape = {4}, opcode op = opcode::exp, int device = gpu) {
        return update_of(identity(feed(shape), {.device = device}), shape, op, device);
    }
    one update_of(int x, const tn::extents& shape = {4}, opcode op = opcode::exp, int device = gpu) {
        const int v = variable(shape, {.device = device}), pass = fused(op, {x}, {.device = device});
        return {v, pass, assign(v, pass, {.device = device, .after = {}, .target = true})};
    }
    void group() { rt::group_small_passes(program, options); }
    bool are_one(const one& a, const one& b) {
        return program.value(a.pass).producer == program.value(b.pass).producer;
    }
    int groups() const {
        return static_cast<int>(std::count_if(program.items.begin(), program.items.end(), [](const auto& i) {
            return !i.removed && i.op == &tn::fused_group_definition;
        }));
    }
};

} // namespace

TEST_CASE("grouping: what updates of small variables are given is one item for a tape") {
    updates m;
    const auto a = m.update(), b = m.update({2, 3}), c = m.update({5}, opcode::sin), d = m.update({1}, opcode::sin);
    const int before = m.left();
    m.group();
    CHECK(m.groups() == 2);
    CHECK(m.left() == before - 2);
    CHECK(m.are_one(a, b));
    CHECK(m.are_one(c, d));
    CHECK(!m.are_one(a, c));
    // Operands and results one after another.
    const rt::program_item& both = m.item_of(b.pass);
    CHECK(both.inputs.size() == 2);
    CHECK(both.outputs[0] == a.pass);
    CHECK(both.outputs[1] == b.pass);
    CHECK(tn::decode<tn::fused_group_op::attributes>(both.attributes).members == 2);
}

TEST_CASE("grouping: what is on the host, on another device, or large is left as it is") {
    updates m;
    m.update();
    m.update({4}, opcode::exp, 0);
    m.update({4}, opcode::exp, 0);
    m.update({2048, 4096});
    m.update({2048, 4096});
    m.group();
    CHECK(m.groups() == 0);
}

TEST_CASE("grouping: what somebody else reads, waits for or fetches is left as it is") {
    SUBCASE("reads") {
        updates m;
        const auto a = m.update();
        m.update();
        m.fused(opcode::sin, {a.pass}, {.device = gpu, .after = {}, .target = true});
        m.group();
        CHECK(m.groups() == 0);
    }
    SUBCASE("fetches") {
        updates m;
        const auto a = m.update();
        m.update();
        m.fetch(a.pass);
        m.group();
        CHECK(m.groups() == 0);
    }
    SUBCASE("waits") {
        updates m;
        const auto a = m.update();
        m.update();
        m.fused(opcode::sin, {m.feed()}, {.device = gpu, .after = {m.number_of(a.pass)}, .target = true});
        m.group();
        CHECK(m.groups() == 0);
    }
}

TEST_CASE(
    "grouping: what comes after another of them, by data, by control or by their variable, is none of the group") {
    SUBCASE("by their variable") {
        updates m;
        const auto a = m.update(), b = m.update();
        const int set = m.assign(a.variable, m.feed(), {.device = gpu}),
                  c = m.fused(opcode::exp, {set}, {.device = gpu});
        m.assign(a.variable, c, {.device = gpu, .after = {}, .target = true});
        bind_variables(m.program, m.options);
        m.group();
        CHECK(m.are_one(a, b));
        CHECK(m.program.value(c).producer != m.program.value(a.pass).producer);
    }
    SUBCASE("by data") {
        updates m;
        const auto a = m.update(), b = m.update();
        const auto c = m.update_of(m.fused(opcode::sin, {a.assign}, {.device = gpu}));
        m.group();
        CHECK(m.are_one(a, b));
        CHECK(!m.are_one(a, c));
    }
    SUBCASE("by control") {
        updates m;
        const auto a = m.update(), b = m.update();
        const auto c = m.update_of(m.fused(opcode::sin, {m.feed()}, {.device = gpu, .after = {m.number_of(a.assign)}}));
        m.group();
        CHECK(m.are_one(a, b));
        CHECK(!m.are_one(a, c));
    }
}

TEST_CASE("grouping: what is computed of variables and constants alone is one item, whoever reads it") {
    updates m;
    const int a = m.variable({4}, {.device = gpu}), b = m.variable({3}, {.device = gpu}),
              c = m.variable({5}, {.device = gpu});
    const int of_a = m.fused(opcode::exp, {a}, {.device = gpu}), of_b = m.fused(opcode::exp, {b}, {.device = gpu});
    const int later = m.fused(opcode::exp, {of_a}, {.device = gpu}), set = m.assign(c, m.feed({5}), {.device = gpu}),
              of_new_c = m.fused(opcode::exp, {set}, {.device = gpu});
    for (const int read : {of_a, of_b, later, of_new_c})
        m.fused(opcode::sin, {read}, {.device = gpu, .after = {}, .target = true});
    m.group();
    CHECK(m.groups() == 1);
    const int group = m.program.value(of_a).producer;
    CHECK(m.program.value(of_b).producer == group);
    CHECK(m.program.value(later).producer != group);
    CHECK(m.program.value(of_new_c).producer != group);
}

TEST_CASE("grouping: where numbers are checked, or nodes timed, each pass is by itself") {
    for (const bool checked : {true, false}) {
        updates m;
        m.update();
        m.update();
        (checked ? m.options.check_numerics : m.options.measure) = true;
        m.group();
        CHECK(m.groups() == 0);
    }
}
