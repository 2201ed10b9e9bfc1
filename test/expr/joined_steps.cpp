#include <doctest/doctest.h>

#include <utility>

#include <tenon/tape/joined_steps.hpp>

#include "run_tape.hpp"

using namespace tape_test;

namespace {

// A tree as a tape of elements e, its only output; with `swapped`, operands that may change places have done so.
tape tape_of(const detail::joined_tree& tree, element_type e, bool swapped) {
    tape t;
    for (int k = 0; k < tree.operands; ++k) t.add_input(e);
    int reg[detail::joined_tree::most]{};
    for (int r = 0; r < tree.length; ++r) {
        instruction i = tree.code[r];
        if (i.op == opcode::input && i.a >= tree.operands) continue;
        if (i.type == element_type::float32) i.type = e;
        const int n = register_operands(i);
        for (std::int16_t* operand : {&i.a, &i.b, &i.c})
            if (n > (operand == &i.a ? 0 : operand == &i.b ? 1 : 2))
                *operand = static_cast<std::int16_t>(reg[*operand]);
        if (swapped && (i.op == opcode::add || i.op == opcode::multiply || i.op == opcode::fma)) std::swap(i.a, i.b);
        reg[r] = t.emit(i);
    }
    t.add_output(reg[tree.root()], e);
    return t;
}
// Of few elements, for which no loops of several steps are written.
int steps_of(const tape& t, simd::isa isa) { return detail::interpreter(t, nullptr, 0, false, 16, isa).steps(); }
void check_against_single_steps(const tape& t, std::int64_t n, simd::isa isa, std::mt19937& random) {
    std::vector<buffer> inputs;
    for (int i = 0; i < t.input_count; ++i) inputs.push_back(random_buffer(t.inputs[i], extents(n), random));
    if (inputs.size() > 1) // some equal ones
        for (std::size_t k = 0; k < inputs[0].count(); k += 3) inputs[1].set(k, inputs[0].at(k));
    options how{.isa = isa};
    const expected want = run_naively(t, {}, inputs, isa);
    const auto got = run(t, {}, inputs, how);
    for (std::size_t o = 0; o < got.size(); ++o) CHECK(matches(got[o], want, o));
}

} // namespace

TEST_CASE("instructions that are joined are one step, and give what they give one by one, to the bit") {
    std::mt19937 random(1);
    for (const simd::isa isa : available())
        for (const element_type e : {element_type::float32, element_type::float64})
            for (const bool swapped : {false, true})
                for (int k = 0; k < detail::joined_trees.size(); ++k) {
                    const tape t = tape_of(detail::joined_trees[k], e, swapped);
                    CAPTURE(simd::name_of(isa));
                    CAPTURE(name_of(e));
                    CAPTURE(k);
                    CHECK((steps_of(t, isa) == 1) == (isa != simd::isa::baseline));
                    for (const std::int64_t n : {7, 100, 1003, 1030}) check_against_single_steps(t, n, isa, random);
                }
}

TEST_CASE("what is needed elsewhere, or differs in a number, is a step of its own") {
    std::mt19937 random(3);
    const element_type e = element_type::float32;
    for (const simd::isa isa : available()) {
        if (isa == simd::isa::baseline) continue;
        tape t;
        const int a = t.emit_input(t.add_input(e)), b = t.emit_input(t.add_input(e));
        const int sum = t.emit(opcode::add, e, a, b), y = t.emit(opcode::sigmoid, e, sum);
        tape once = t;
        once.add_output(t.emit(opcode::multiply, e, y, a), e);
        once.emit(opcode::multiply, e, y, a);
        CHECK(steps_of(once, isa) == 1);
        tape twice = once; // the sum is an output too
        twice.add_output(sum, e);
        CHECK(steps_of(twice, isa) == 2);
        tape again = once; // or an operand
        again.add_output(again.emit(opcode::divide, e, sum, b), e);
        CHECK(steps_of(again, isa) == 3);
        tape two = t; // y (2 - y) is no slope
        two.add_output(two.emit(opcode::multiply, e, a,
                                two.emit(opcode::multiply, e, y,
                                         two.emit(opcode::subtract, e, two.emit_literal(number(2), e), y))),
                       e);
        CHECK(steps_of(two, isa) == 3);
        for (const tape& one : {once, twice, again, two}) check_against_single_steps(one, 1003, isa, random);
    }
}

TEST_CASE("the gradients of the usual functions are one step each, and so is the sum with what is negative") {
    const element_type e = element_type::float32;
    for (const simd::isa isa : available()) {
        if (isa == simd::isa::baseline) continue;
        for (const opcode f : {opcode::relu, opcode::sigmoid, opcode::tanh}) {
            tape t;
            t.add_output(t.emit(f, e, t.emit_input(t.add_input(e))), e);
            CAPTURE(info_of(f).name);
            CHECK(steps_of(vjp(t).code, isa) == 1);
        }
        tape t;
        const int a = t.emit_input(t.add_input(e)), b = t.emit_input(t.add_input(e));
        t.add_output(t.emit(opcode::add, e, t.emit(opcode::negative, e, a), b), e);
        CHECK(steps_of(t, isa) == 1);
        std::mt19937 random(4);
        check_against_single_steps(t, 1003, isa, random);
    }
}

TEST_CASE("blocks end with whole registers, also where the elements before the rest may not be computed again") {
    std::mt19937 random(2);
    for (const simd::isa isa : available())
        for (const bool in_place : {false, true})
            for (const std::int64_t n : {127, 129, 143, 256, 257, 511, 1000, 4097}) {
                tape t; // of six steps, and one step of it; x and y are each where an output may go
                const int x = t.emit_input(t.add_input(element_type::float32)),
                          y = t.emit_input(t.add_input(element_type::float32));
                const int quotient = t.emit(opcode::divide, element_type::float32, x, y);
                tape few = t;
                few.add_output(quotient, element_type::float32);
                int r = quotient;
                for (int k = 0; k < 4; ++k) r = t.emit(opcode::sin, element_type::float32, r);
                t.add_output(r, element_type::float32);
                t.add_output(t.emit(opcode::minimum, element_type::float32, x, r), element_type::float32);
                for (const tape& one : {t, few}) {
                    std::vector<buffer> inputs;
                    for (int i = 0; i < one.input_count; ++i)
                        inputs.push_back(random_buffer(element_type::float32, extents(n), random));
                    options how{.isa = isa, .in_place = in_place};
                    CAPTURE(simd::name_of(isa));
                    CAPTURE(in_place);
                    CAPTURE(n);
                    const expected want = run_naively(one, {}, inputs, isa);
                    const auto got = run(one, {}, inputs, how);
                    for (std::size_t o = 0; o < got.size(); ++o) CHECK(matches(got[o], want, o));
                }
            }
}
