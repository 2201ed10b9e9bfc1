#include <tenon/runtime/plan/rewrite/rewrite.hpp>

#include "tests.hpp"
#include "runtime/plan/handmade.hpp"

// What the rewriter may join, fold and leave out, and what it may not.

namespace rt = tenon::runtime;
using handmade::maker;
using tn::opcode;

namespace {

int reshaped(maker& m, int of, const tn::index_list& sizes) {
    tn::extents declared;
    for (const std::int64_t s : sizes) declared.push_back(tn::extent(s));
    return m.item(tn::reshape_definition, tn::encode(tn::reshape_op::attributes{sizes, declared}), {of});
}

} // namespace

TEST_CASE("rewrite: an identity vanishes, and who read it reads its input") {
    maker m;
    const int x = m.feed(), i = m.identity(m.identity(x)), y = m.fused(opcode::exp, {i});
    m.fetch(y);
    m.fetch(i);
    rewrite(m.program, m.options);
    CHECK(m.left() == 1);
    CHECK(m.item_of(y).inputs[0] == x);
    CHECK(m.program.fetches == std::vector<int>{y, x});
    CHECK(m.program.shared_views == 2);
}

TEST_CASE("rewrite: a reshape becomes a view of what it is of") {
    maker m;
    const int x = m.feed({2, 6}), v = reshaped(m, x, {3, 4}), w = reshaped(m, v, {12}), y = m.fused(opcode::exp, {w});
    m.fetch(y);
    rewrite(m.program, m.options);
    CHECK(m.left() == 1);
    CHECK(m.program.root(m.item_of(y).inputs[0]) == x);
    CHECK(m.program.value(m.item_of(y).inputs[0]).type.extents == tn::extents{12});
}

TEST_CASE("rewrite: an identity that waits, or that others wait for, stays") {
    maker m;
    const int x = m.feed();
    const int before = m.identity(x);
    const int waiting = m.identity(x, {.after = {m.number_of(before)}});
    m.fetch(waiting);
    rewrite(m.program, m.options);
    CHECK_FALSE(m.item_of(before).removed);
    CHECK_FALSE(m.item_of(waiting).removed);
    CHECK(m.program.fetches[0] == waiting);
}

TEST_CASE("rewrite: what is computed of constants alone is one") {
    maker m;
    const int x = m.feed(), two = m.constant(2), three = m.constant(3);
    const int six = m.fused(opcode::multiply, {two, three});
    const int y = m.fused(opcode::add, {x, six});
    m.fetch(y);
    m.options.fuse = false;
    rewrite(m.program, m.options);
    CHECK(m.left() == 1);
    REQUIRE(m.program.value(six).constant);
    CHECK(static_cast<const float*>(m.program.value(six).constant->data())[3] == 6);
    CHECK(m.program.folded == 1);
}

TEST_CASE("rewrite: what has effects, waits or is asked for by itself is not folded") {
    maker m;
    const int c = m.constant(2);
    const int variable = m.variable(), update = m.assign(variable, c);
    const int waits = m.fused(opcode::exp, {c}, {.after = {m.number_of(update)}});
    const int wanted = m.fused(opcode::sin, {c}, {.target = true});
    m.fetch(waits);
    rewrite(m.program, m.options);
    for (const int v : {update, waits, wanted}) {
        CHECK_FALSE(m.item_of(v).removed);
        CHECK_FALSE(m.program.value(v).constant);
    }
}

TEST_CASE("rewrite: elementwise items of which each has one reader become one") {
    maker m;
    const int x = m.feed(), y = m.feed();
    const int a = m.fused(opcode::exp, {x}), b = m.fused(opcode::add, {a, y}), c = m.fused(opcode::sin, {b});
    m.fetch(c);
    rewrite(m.program, m.options);
    CHECK(m.left() == 1);
    CHECK(m.program.fused == 2);
    const auto& inputs = m.item_of(c).inputs;
    CHECK(std::vector<int>(inputs.begin(), inputs.end()) == std::vector<int>{y, x});
    const auto t = m.item_of(c).attributes.get<std::shared_ptr<const tn::tape>>("tape");
    CHECK(t->length == 5); // two inputs and three instructions
    CHECK(t->code[t->outputs[0].reg].op == opcode::sin);
}

TEST_CASE("rewrite: what is read at many places of a pass counts once among those that a pass may have") {
    maker m;
    const int x = m.feed({2, 6}), w = m.feed({2, 6}), v = reshaped(m, w, {12}), u = reshaped(m, w, {12});
    int y = reshaped(m, m.fused(opcode::multiply, {x, w}), {12});
    for (int i = 0; i < 40; ++i) y = m.fused(i % 2 ? opcode::add : opcode::multiply, {y, i % 3 ? u : v});
    m.fetch(y);
    rewrite(m.program, m.options);
    CHECK(m.left() == 2); // of other sizes
    CHECK(m.item_of(y).inputs.size() <= static_cast<std::size_t>(tn::max_tape_inputs));
}

TEST_CASE("rewrite: what several read, or is fetched, is computed once") {
    maker m;
    const int x = m.feed(), twice = m.fused(opcode::exp, {x}), fetched = m.fused(opcode::sin, {twice});
    const int y = m.fused(opcode::add, {twice, fetched});
    m.fetch(fetched);
    m.fetch(y);
    rewrite(m.program, m.options);
    CHECK(m.left() == 3);
    CHECK(m.program.fused == 0);
}

TEST_CASE("rewrite: nothing is joined across devices") {
    maker m(2);
    const int x = m.feed(), a = m.fused(opcode::exp, {x}, {.device = 1}), b = m.fused(opcode::sin, {a});
    m.fetch(b);
    rewrite(m.program, m.options);
    CHECK(m.left() == 2);
}

TEST_CASE("rewrite: what others wait for, and what waits, is joined with nothing") {
    maker m;
    const int x = m.feed(), awaited = m.fused(opcode::exp, {x}), y = m.fused(opcode::sin, {awaited});
    const int other = m.fused(opcode::cos, {x}, {.after = {m.number_of(awaited)}});
    const int z = m.fused(opcode::tanh, {other});
    m.fetch(y);
    m.fetch(z);
    rewrite(m.program, m.options);
    CHECK(m.left() == 4);
}

TEST_CASE("rewrite: what nobody reads is left out with what only it reads, unless it has effects or was asked for") {
    for (const bool fuse : {true, false}) {
        CAPTURE(fuse);
        maker m;
        m.options.fuse = fuse;
        const int x = m.feed();
        const int before = m.fused(opcode::exp, {x}), unread = m.fused(opcode::sin, {before});
        const int parts = m.item(tn::split_definition, tn::encode(tn::split_op::attributes{0, 2, {}}), {unread});
        const int variable = m.variable(), update = m.assign(variable, m.fused(opcode::tanh, {x}));
        const int wanted = m.fused(opcode::cos, {x}, {.target = true});
        const int read = m.fused(opcode::exp2, {x});
        m.fetch(read);
        rewrite(m.program, m.options);
        for (const int v : {before, unread, parts}) CHECK(m.item_of(v).removed);
        for (const int v : {update, wanted, read}) CHECK_FALSE(m.item_of(v).removed);
    }
}

TEST_CASE("rewrite: of several outputs those that nobody reads are left out, with what is computed for them alone") {
    maker m;
    const int x = m.feed(), y = m.feed(), for_first = m.fused(opcode::exp, {x}), for_second = m.fused(opcode::exp, {y});
    tn::tape t;
    const int a = t.emit_input(t.add_input(tn::element_type::float32)),
              b = t.emit_input(t.add_input(tn::element_type::float32));
    t.add_output(t.emit(opcode::sin, tn::element_type::float32, a), tn::element_type::float32);
    t.add_output(t.emit(opcode::cos, tn::element_type::float32, b), tn::element_type::float32);
    const int first = m.fused(t, {for_first, for_second});
    const int second = m.item_of(first).outputs[1];
    m.fetch(second);
    rewrite(m.program, m.options);
    CHECK(m.item_of(for_first).removed);
    CHECK(m.item_of(second).outputs.size() == 1);
    CHECK(m.left() == 1); // what is read is one pass
}

TEST_CASE("rewrite: a view that nobody reads keeps nothing") {
    maker m;
    const int x = m.feed({2, 6}), y = m.fused(opcode::exp, {x}), unread = reshaped(m, y, {12});
    const int z = m.fused(opcode::sin, {y});
    m.fetch(z);
    rewrite(m.program, m.options);
    CHECK(m.program.value(unread).view_of == y);
    CHECK(m.left() == 1); // z and y are one
}

TEST_CASE(
    "rewrite: what a pass would store of an input, or twice, is read where it is; sums, and what is ordered, are not") {
    tn::tape t;
    const auto f = tn::element_type::float32;
    const int x = t.emit_input(t.add_input(f)), e = t.emit(opcode::exp, f, x);
    t.add_input(f); // gives sizes alone
    t.add_output(x, f);
    t.add_output(e, f);
    t.add_output(e, f);
    t.add_output(x, f, 1);
    for (const bool is_awaited : {false, true}) {
        maker m;
        const int fed = m.feed({3, 4}), like = m.feed({4}), first = m.fused(t, {fed, like});
        const auto outputs = m.item_of(first).outputs;
        if (is_awaited) m.fetch(m.fused(opcode::sin, {like}, {.after = {m.number_of(first)}}));
        const std::size_t before = m.program.fetches.size();
        for (const int v : outputs) m.fetch(v);
        rewrite(m.program, m.options);
        const std::vector<int> fetched(m.program.fetches.begin() + static_cast<std::ptrdiff_t>(before),
                                       m.program.fetches.end());
        if (is_awaited) CHECK(fetched == std::vector<int>(outputs.begin(), outputs.end()));
        else {
            CHECK(fetched == std::vector<int>{fed, outputs[1], outputs[1], outputs[3]});
            CHECK(m.item_of(outputs[1]).outputs.size() == 2);
        }
    }
    tn::tape copy;
    copy.add_output(copy.emit_input(copy.add_input(f)), f);
    maker m;
    const int fed = m.feed();
    m.fetch(m.fused(copy, {fed}));
    rewrite(m.program, m.options);
    CHECK(m.left() == 0);
    CHECK(m.program.fetches == std::vector<int>{fed});
}
