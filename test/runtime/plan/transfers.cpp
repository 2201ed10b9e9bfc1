#include <tenon/runtime/plan/rewrite/rewrite.hpp>
#include <tenon/runtime/plan/transfers.hpp>

#include "tests.hpp"
#include "runtime/plan/handmade.hpp"

// What crosses to another device's memory.

namespace rt = tenon::runtime;
using handmade::maker;
using tn::opcode;

namespace {
int transfers(const rt::program& p) {
    int n = 0;
    for (const rt::program_item& i : p.items) n += !i.removed && i.op == &tn::transfer_definition;
    return n;
}
} // namespace

TEST_CASE("transfers: a tensor crosses to a device once, however many read it there") {
    maker m(3);
    const int x = m.feed(), a = m.fused(opcode::exp, {x}, {.device = 1}), b = m.fused(opcode::sin, {x}, {.device = 1}),
              c = m.fused(opcode::cos, {x}, {.device = 2}), here = m.fused(opcode::tanh, {x});
    rt::insert_transfers(m.program, m.options);
    CHECK(transfers(m.program) == 2);
    const int there = m.item_of(a).inputs[0];
    CHECK(m.item_of(b).inputs[0] == there);
    CHECK(m.program.value(there).device == 1);
    CHECK(m.item_of(there).op == &tn::transfer_definition);
    CHECK(m.item_of(there).device == 1);
    CHECK(m.item_of(there).inputs[0] == x);
    CHECK(m.program.value(m.item_of(c).inputs[0]).device == 2);
    CHECK(m.item_of(here).inputs[0] == x);
}

TEST_CASE("transfers: what is fetched crosses to the host with what is read there") {
    maker m(2);
    const int a = m.fused(opcode::exp, {m.feed()}, {.device = 1}), b = m.fused(opcode::sin, {a});
    m.fetch(a);
    rt::insert_transfers(m.program, m.options);
    CHECK(transfers(m.program) == 2);
    CHECK(m.program.fetches[0] == m.item_of(b).inputs[0]);
    CHECK(m.program.value(m.program.fetches[0]).device == 0);
}

TEST_CASE("transfers: a constant is copied when the step is planned, by no item") {
    maker m(2);
    const int c = m.constant(2), y = m.fused(opcode::exp, {c}, {.device = 1});
    m.fetch(y);
    m.options.fold = false;
    rewrite(m.program, m.options);
    rt::insert_transfers(m.program, m.options);
    const int there = m.item_of(y).inputs[0];
    CHECK(there != c);
    CHECK(m.program.value(there).constant == m.program.value(c).constant);
    CHECK(m.program.value(there).device == 1);
    CHECK(m.program.value(there).producer == -1);
}

TEST_CASE("transfers: a view crosses with what it is of, which crosses once") {
    maker m(2);
    const int x = m.feed({2, 6});
    const int view = m.program.add(rt::program_value{
        .origin = m.program.value(x).origin, .type = {tn::element_type::float32, {12}}, .view_of = x});
    const int a = m.fused(opcode::exp, {x}, {.device = 1}), b = m.fused(opcode::sin, {x}, {.device = 1});
    m.item_of(b).inputs[0] = view;
    rt::insert_transfers(m.program, m.options);
    CHECK(transfers(m.program) == 1);
    const int there = m.item_of(b).inputs[0];
    CHECK(m.program.root(there) == m.item_of(a).inputs[0]);
    CHECK(m.program.value(there).type.extents == tn::extents{12});
}

TEST_CASE("transfers: what is read for its sizes alone does not cross") {
    maker m(2);
    const int x = m.feed();
    const int y = m.item(tn::fill_like_definition, tn::encode(tn::fill_like_op::attributes{2.0}), {x}, {.device = 1});
    rt::insert_transfers(m.program, m.options);
    CHECK(transfers(m.program) == 0);
    CHECK(m.item_of(y).inputs[0] == x);
}
