#include <doctest/doctest.h>

#include <tenon/tape/vjp.hpp>

#include "run_tape.hpp"

using namespace tape_test;

namespace {

constexpr element_type real = element_type::float64;

options fastest() { return {.isa = simd::best_isa()}; }

/// The sum over all outputs of weight * value.
double loss(const tape& t, const std::vector<buffer>& inputs, const std::vector<buffer>& weights) {
    const auto out = run(t, {}, inputs, fastest());
    double sum = 0;
    for (std::size_t o = 0; o < out.size(); ++o)
        if (is_floating(out[o].element))
            for (std::size_t i = 0; i < out[o].count(); ++i) sum += out[o].at(i) * weights[o].at(i);
    return sum;
}

/// Compares the gradients of a tape of doubles with central differences. Returns how many were compared; where the
/// slopes of both sides differ there is none.
int check(const tape& t, const std::vector<buffer>& inputs, std::mt19937& random, double tolerance = 2e-5) {
    REQUIRE(tape_defect(t) == nullptr);
    const auto y = run(t, {}, inputs, fastest());
    const gradient_tape g = vjp(t);
    REQUIRE_FALSE(g.code.overfull);
    if (g.code.output_count == 0) return 0;
    REQUIRE(tape_defect(g.code) == nullptr);
    std::vector<buffer> all, weights;
    for (const buffer& b : inputs) all.emplace_back(b);
    for (std::size_t o = 0; o < y.size(); ++o)
        if (g.reads(static_cast<int>(o))) all.emplace_back(y[o]);
    for (const buffer& b : y) {
        weights.push_back(random_buffer(b.element, b.sizes, random, 0.5, 2));
        all.emplace_back(weights.back());
    }
    REQUIRE(static_cast<int>(all.size()) == g.code.input_count);
    const auto slopes = run(g.code, {}, all, fastest());
    int compared = 0;
    for (std::size_t k = 0; k < slopes.size(); ++k) {
        const auto like = static_cast<std::size_t>(g.code.outputs[k].like);
        REQUIRE(slopes[k].sizes == inputs[like].sizes);
        for (std::size_t i = 0; i < slopes[k].count(); ++i) {
            const double x = inputs[like].at(i), h = 1e-5 * std::max(1.0, std::fabs(x));
            std::vector<buffer> moved;
            for (const buffer& b : inputs) moved.emplace_back(b);
            moved[like].set(i, x + h);
            const double up = loss(t, moved, weights);
            moved[like].set(i, x - h);
            const double down = loss(t, moved, weights);
            const double here = loss(t, inputs, weights);
            const double right = (up - here) / h, left = (here - down) / h, slope = (up - down) / (2 * h);
            if (!std::isfinite(slope) || std::fabs(right - left) > 0.02 * (std::fabs(slope) + 1)) continue;
            // The differences of a large sum say little about a small slope.
            const double noise = std::fabs(here) * 4e-16 / h;
            INFO("input ", like, " element ", i, " at ", x);
            CHECK(slopes[k].at(i) == doctest::Approx(slope).epsilon(tolerance).scale(1 + noise / tolerance));
            ++compared;
        }
    }
    return compared;
}

/// Checks that a tape that has no gradients has no slopes: between steps it does not change. Returns how many elements
/// were looked at.
int check_flat(const tape& t, const std::vector<buffer>& inputs) {
    int looked_at = 0;
    for (std::size_t k = 0; k < inputs.size(); ++k)
        for (std::size_t i = 0; i < inputs[k].count(); ++i, ++looked_at) {
            std::vector<buffer> moved;
            for (const buffer& b : inputs) moved.emplace_back(b);
            moved[k].set(i, inputs[k].at(i) + 1e-9);
            const auto before = run(t, {}, inputs, fastest()), after = run(t, {}, moved, fastest());
            INFO("input ", k, " element ", i, " at ", inputs[k].at(i));
            CHECK(before[0].at(i) == after[0].at(i));
        }
    return looked_at;
}

std::pair<double, double> domain(opcode op) {
    switch (op) {
    case opcode::log:
    case opcode::log2:
    case opcode::log10:
    case opcode::sqrt:
    case opcode::rsqrt:
    case opcode::cbrt:
    case opcode::lgamma:
    case opcode::digamma:
    case opcode::polygamma: return {0.3, 3};
    case opcode::pow: return {0.3, 2.5};
    case opcode::log1p: return {-0.7, 3};
    case opcode::asin:
    case opcode::acos:
    case opcode::erfinv:
    case opcode::atanh: return {-0.8, 0.8};
    case opcode::acosh: return {1.2, 3};
    case opcode::reciprocal:
    case opcode::divide:
    case opcode::mod:
    case opcode::fmod: return {0.4, 3};
    case opcode::tan: return {-1.2, 1.2};
    case opcode::erfcinv: return {0.2, 1.8};
    default: return {-2, 2};
    }
}

tape one_instruction(opcode op, int operands) {
    tape t;
    int reg[3] = {-1, -1, -1};
    for (int i = 0; i < operands; ++i) reg[i] = t.emit_input(t.add_input(real));
    t.add_output(t.emit(op, real, reg[0], reg[1], reg[2]), real);
    return t;
}

const extents shapes[][3] = {{extents(4), extents(4), extents(4)},
                             {extents(2, 3), extents(3), extents(2, 1)},
                             {extents(), extents(3, 1), extents(1, 4)}};

} // namespace

TEST_CASE("each instruction's gradients are those of central differences, summed over repeated dimensions") {
    std::mt19937 random(11);
    for (int k = 0; k < opcode_count; ++k) {
        const auto op = static_cast<opcode>(k);
        const opcode_group g = info_of(op).group;
        if (g != opcode_group::real && g != opcode_group::number) continue;
        const auto [low, high] = domain(op);
        const int n = info_of(op).operands;
        const bool steps = vjp(one_instruction(op, n)).code.output_count == 0;
        int compared = 0;
        for (const auto& sizes : shapes) {
            std::vector<buffer> in;
            for (int i = 0; i < n; ++i) in.push_back(random_buffer(real, sizes[i], random, low, high));
            for (std::size_t i = 0; op == opcode::polygamma && i < in[0].count(); ++i)
                in[0].set(i, std::floor(in[0].at(i))); // orders are whole
            INFO(info_of(op).name);
            compared += steps ? check_flat(one_instruction(op, n), in) : check(one_instruction(op, n), in, random);
        }
        INFO(info_of(op).name);
        CHECK(compared > 5);
    }
}

TEST_CASE("a choice passes the gradient to what was chosen") {
    std::mt19937 random(12);
    tape t;
    const int x = t.emit_input(t.add_input(real)), y = t.emit_input(t.add_input(real));
    const int p = t.emit(opcode::greater, element_type::boolean, x, y);
    t.add_output(t.emit(opcode::select, real, p, t.emit(opcode::exp, real, x), t.emit(opcode::sin, real, y)), real);
    std::vector<buffer> in;
    in.push_back(random_buffer(real, extents(3, 4), random));
    in.push_back(random_buffer(real, extents(4), random));
    CHECK(check(t, in, random) > 8);
}

TEST_CASE("random smooth tapes: first and second derivatives") {
    std::mt19937 random(13);
    constexpr opcode unary[] = {opcode::tanh, opcode::sigmoid,  opcode::sin,  opcode::softplus,
                                opcode::relu, opcode::negative, opcode::atan, opcode::erf};
    constexpr opcode binary[] = {opcode::add, opcode::subtract, opcode::multiply, opcode::maximum, opcode::minimum};
    const auto any = [&](auto n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int compared = 0;
    for (int repeat = 0; repeat < 80; ++repeat) {
        tape t;
        const int inputs = 1 + any(3);
        for (int i = 0; i < inputs; ++i) t.emit_input(t.add_input(real));
        for (const int length = t.length + 2 + any(6); t.length < length;) {
            const int a = any(t.length), b = any(t.length), c = any(t.length);
            switch (any(4)) {
            case 0: t.emit(unary[any(8)], real, a); break;
            case 1: t.emit(binary[any(5)], real, a, b); break;
            case 2: t.emit(opcode::fma, real, a, b, c); break;
            default: t.emit(opcode::multiply, real, a, t.emit_literal(0.5, real));
            }
        }
        t.add_output(t.length - 1, real);
        if (any(2)) t.add_output(any(t.length), real);
        std::vector<buffer> in;
        for (int i = 0; i < inputs; ++i) in.push_back(random_buffer(real, shapes[repeat % 3][i], random, -1, 1));
        const int first = check(t, in, random, 1e-4);
        compared += first;
        if (first == 0) continue;
        // The gradients' own gradients: their outputs have the sizes of single operands.
        const gradient_tape g = vjp(t);
        const auto y = run(t, {}, in, fastest());
        for (std::size_t o = 0; o < y.size(); ++o)
            if (g.reads(static_cast<int>(o))) in.emplace_back(y[o]);
        for (const buffer& b : y) in.push_back(random_buffer(real, b.sizes, random, 0.5, 1));
        compared += check(g.code, in, random, 1e-4);
    }
    CHECK(compared > 1000);
}

TEST_CASE("the gradient reads an output instead of computing it again where that takes fewer operands or steps") {
    // exp: y is read, x is not.
    const gradient_tape g = vjp(one_instruction(opcode::exp, 1));
    CHECK(g.reads(0));
    CHECK_FALSE(g.code.loads(0));
    CHECK(g.code.input_count == 3);
    // x * w: neither.
    const gradient_tape m = vjp(one_instruction(opcode::multiply, 2));
    CHECK_FALSE(m.reads(0));
    CHECK(m.code.input_count == 3);
}

TEST_CASE("a step, a test and an integer pass no gradient") {
    for (const opcode op : {opcode::floor, opcode::ceil, opcode::round, opcode::trunc, opcode::sign})
        CHECK(vjp(one_instruction(op, 1)).code.output_count == 0);
    tape t;
    const int x = t.emit_input(t.add_input(real));
    const int i = t.emit(opcode::cast, element_type::int32, x);
    t.add_output(t.emit(opcode::cast, real, i), real);
    CHECK(vjp(t).code.output_count == 0);
}

static_assert([] {
    tape t;
    const int x = t.emit_input(t.add_input(element_type::float32));
    const int one = t.emit_literal(1, element_type::float32);
    return t.emit(opcode::multiply, element_type::float32, x, one) == x && t.emit_input(0) == x &&
           t.emit_literal(1, element_type::float32) == one;
}());
