#include <doctest/doctest.h>

#include <tenon/runtime/plan/rewrite/reads.hpp>

#include "runtime/plan/handmade.hpp"

// Which version of a variable an item reads.

namespace rt = tenon::runtime;
using handmade::maker;
using tenon::opcode;

TEST_CASE("reads: an item reads what the step finds, also where it is made after an update") {
    maker m;
    const int v = m.variable(), before = m.fused(opcode::exp, {v});
    m.assign(v, m.feed(), {.target = true});
    const int after = m.fused(opcode::sin, {v});
    m.fetch(before);
    m.fetch(after);
    rt::resolve_reads(m.program);
    CHECK(m.item_of(before).inputs[0] == v);
    CHECK(m.item_of(after).inputs[0] == v);
}

TEST_CASE("reads: who is made to run after an update, or after what runs after one, reads what it left") {
    maker m;
    const int v = m.variable(), update = m.assign(v, m.feed());
    const int by_data = m.fused(opcode::exp, {update});
    const int behind = m.fused(opcode::sin, {v}, {.after = {m.number_of(update)}});
    const int further = m.fused(opcode::cos, {v}, {.after = {m.number_of(by_data)}});
    const int beside = m.fused(opcode::add, {v, by_data}); // data alone does not make a read late
    for (const int f : {behind, further, beside}) m.fetch(f);
    rt::resolve_reads(m.program);
    CHECK(m.item_of(behind).inputs[0] == update);
    CHECK(m.item_of(further).inputs[0] == update);
    CHECK(m.item_of(beside).inputs[0] == v);
}

TEST_CASE("reads: of several updates the latest that an item runs after counts") {
    maker m;
    const int v = m.variable(), first = m.assign(v, m.feed()), second = m.assign(v, m.feed()),
              third = m.assign(v, m.feed());
    const int read = m.fused(opcode::exp, {v}, {.after = {m.number_of(second), m.number_of(first)}});
    m.fetch(read);
    m.fetch(third);
    rt::resolve_reads(m.program);
    CHECK(m.item_of(read).inputs[0] == second);
}

TEST_CASE("reads: a variable that is read only after its updates need not have a value before") {
    maker m;
    const int v = m.variable(), update = m.assign(v, m.feed());
    const int read = m.fused(opcode::exp, {v}, {.after = {m.number_of(update)}});
    m.fetch(read);
    rt::resolve_reads(m.program);
    CHECK(m.item_of(v).removed);
}
