#include <doctest/doctest.h>

#include "run_tape.hpp"

using namespace tape_test;

TEST_CASE("a function of a sum, a difference or a product is one step, and gives what two give, to the bit") {
    std::mt19937 random(1);
    for (const simd::isa isa : available())
        for (const element_type e : {element_type::float32, element_type::float64})
            for (const opcode second : {opcode::relu, opcode::exp, opcode::sigmoid, opcode::tanh})
                for (const opcode first : {opcode::add, opcode::subtract, opcode::multiply, opcode::fma}) {
                    tape t;
                    const int a = t.emit_input(t.add_input(e)), b = t.emit_input(t.add_input(e));
                    const int c = first == opcode::fma ? t.emit_input(t.add_input(e)) : -1;
                    t.add_output(t.emit(second, e, t.emit(first, e, a, b, c)), e);
                    CAPTURE(simd::name_of(isa));
                    CAPTURE(name_of(e));
                    CAPTURE(info_of(first).name);
                    CAPTURE(info_of(second).name);
                    const detail::interpreter made(t, nullptr, 0, false, 1000, isa);
                    CHECK(made.steps() == (isa == simd::isa::baseline ? 2 : 1));
                    for (const std::int64_t n : {7, 100, 1003}) {
                        std::vector<buffer> inputs;
                        for (int i = 0; i < t.input_count; ++i) inputs.push_back(random_buffer(e, extents(n), random));
                        options how;
                        how.isa = isa;
                        CHECK(matches(run(t, {}, inputs, how)[0], run_naively(t, {}, inputs, isa), 0));
                    }
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
                    options how;
                    how.isa = isa;
                    how.in_place = in_place;
                    CAPTURE(simd::name_of(isa));
                    CAPTURE(in_place);
                    CAPTURE(n);
                    const expected want = run_naively(one, {}, inputs, isa);
                    const auto got = run(one, {}, inputs, how);
                    for (std::size_t o = 0; o < got.size(); ++o) CHECK(matches(got[o], want, o));
                }
            }
}
