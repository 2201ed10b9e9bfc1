// Kernels that the compiler makes of an expression's type give what the interpreter gives, to the bit.
#undef TENON_COMPILE_EXPRESSIONS
#define TENON_COMPILE_EXPRESSIONS 1
#include <doctest/doctest.h>

#include <tenon/ops/elementwise/activations.hpp>
#include <tenon/ops/control/control.hpp>

#include "compare_compiled.hpp"

using namespace tape_test;

namespace {

template <class T> auto operand(const char* name) { return placeholder<T, shape<dyn>>(name); }

template <class E> void check(const char* name, const E& expression) {
    INFO(name);
    std::mt19937 random(7);
    require_compiled_as_interpreted(expression, random);
}

} // namespace

TEST_CASE("compiled kernels agree with the interpreter: arithmetic and activations") {
    auto a = operand<float>("a"), x = operand<float>("x"), b = operand<float>("b"), c = operand<float>("c");
    check("relu(a*x+b)*sigmoid(c-x)", relu(a * x + b) * sigmoid(c - x));
    check("numbers", 2 * x + 3 - x / 7);
    check("gelu", gelu(x + b));
    check("mish, softsign", mish(x) - softsign(a * 3));
    check("selu of elu", selu(elu(x, 0.3)));
    check("clip, lerp", lerp(clip(a, -1, 1), x, sigmoid(b)));
    check("logaddexp", logaddexp(a, x) + xlogy(b, c));
    check("a choice", select(a > x && !(b == c), a, x * 2));
    check("floor_divide, mod", floor_divide(a, x) + a % x);
}

TEST_CASE("compiled kernels agree with the interpreter: all element types") {
    auto h = operand<half>("h"), h2 = operand<half>("h2");
    check("half", relu(h * h2 + 1) * h);
    auto f = operand<bfloat16>("f");
    check("bfloat16", exp(f) - f);
    auto d = operand<double>("d"), d2 = operand<double>("d2");
    check("double", tanh(d) * d2 + sqrt(abs(d2)));
    auto i = operand<std::int32_t>("i"), j = operand<std::int32_t>("j");
    check("int32", (i << 2) % 7 + (j & 255) / i);
    auto l = operand<std::int64_t>("l");
    check("int64", (l ^ 3) * l - abs(l));
    auto u = operand<std::uint8_t>("u");
    check("uint8", ~u + (u >> 1));
    auto s = operand<std::int16_t>("s");
    check("int16", minimum(s, 5) * maximum(s, -5));
    auto p = operand<bool>("p"), q = operand<bool>("q");
    check("bool", logical_xor(p, !q) || p == q);
    check("casts", cast<float>(i) * cast<float>(h) + cast<float>(p) + cast<float>(cast<half>(d)));
    check("to integers", cast<std::int8_t>(d * 100) + cast<std::int8_t>(u));
}

TEST_CASE_TEMPLATE("gradients of an operand that occurs several times are added as the interpreter adds them", T, float,
                   double) {
    std::mt19937 random(8);
    auto a = operand<T>("a"), x = operand<T>("x"), b = operand<T>("b"), c = operand<T>("c");
    auto expression = relu(a * x + b) * sigmoid(c - x);
    expression.materialize();
    const tape& t = detail::gradient_program<detail::forward_program<typename decltype(expression)::tree_type>>::code;
    REQUIRE(t.output_count == 5);
    REQUIRE(detail::find_compiled_tape(t) != nullptr);
    const std::vector<std::int64_t> merges[] = {
        {-1, -1, -1, -1, 1}, {-1, 0, 0, 0, 0}, {-1, -1, 1, -1, 3}, {-1, 0, -1, 2, 2}};
    for (const simd::isa isa : available())
        for (const std::vector<std::int64_t>& merge : merges)
            for (const std::int64_t n : {1, 7, 64, 1003})
                for (const bool is_summed : {false, true})
                    for (const bool in_place : {false, true}) {
                        std::vector<buffer> inputs;
                        for (int i = 0; i < t.input_count; ++i)
                            inputs.push_back(random_buffer(
                                t.inputs[i], is_summed && i >= 5 ? extents(3, n) : extents(1, n), random));
                        options interpreted, compiled;
                        interpreted.isa = compiled.isa = isa;
                        interpreted.merge = compiled.merge = merge;
                        compiled.compiled = true;
                        compiled.in_place = in_place;
                        const auto want = run(t, {}, inputs, interpreted), got = run(t, {}, inputs, compiled);
                        CAPTURE(std::string(name_of(isa)));
                        CAPTURE(n);
                        CAPTURE(is_summed);
                        REQUIRE(got.size() == want.size());
                        for (std::size_t o = 0; o < got.size(); ++o) CHECK(same_bits(got[o], want[o]));
                    }
}

TEST_CASE("an expression's kernels are found by their tape's content") {
    auto x = operand<float>("x"), y = operand<float>("y");
    auto first = x * y + 5;
    first.materialize();
    const tape& t = detail::forward_program<decltype(first)::tree_type>::code;
    const tape copy = t;
    CHECK(detail::find_compiled_tape(copy) == detail::find_compiled_tape(t));
    tape other = t;
    other.code[other.length - 1].op = opcode::fma;
    other.emit(opcode::relu, element_type::float32, other.length - 1);
    other.outputs[0].reg = static_cast<std::int16_t>(other.length - 1);
    CHECK(detail::find_compiled_tape(other) == nullptr);
}
