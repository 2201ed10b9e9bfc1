// Kernels that the compiler makes of an expression's type give what the interpreter gives, to the bit.
#undef TENON_COMPILE_EXPRESSIONS
#define TENON_COMPILE_EXPRESSIONS 1
#include <doctest/doctest.h>

#include <tenon/ops/control.hpp>
#include <tenon/ops/elementwise.hpp>

#include "run_tape.hpp"

using namespace tape_test;

namespace {

template <class T> auto operand(const char* name) { return placeholder<T, shape<dyn>>(name); }

void compare(const tape& t, const std::vector<std::int64_t>& constants, std::mt19937& random) {
    const detail::compiled_tape* functions = detail::find_compiled_tape(t);
    REQUIRE(functions != nullptr);
    for (const simd::isa isa : available()) {
        const bool has = (isa == simd::isa::avx512 ? functions->avx512
                          : isa == simd::isa::avx2 ? functions->avx2
                                                   : functions->baseline) != nullptr;
        if (!has) continue;
        for (int repeat = 0; repeat < 12; ++repeat) {
            // What is merged or summed must have the sizes of some input, so all inputs get their own sizes.
            const auto sizes = random_sizes(random, t.input_count, 3000);
            std::vector<buffer> inputs;
            for (int i = 0; i < t.input_count; ++i)
                inputs.push_back(random_buffer(t.inputs[i], sizes[static_cast<std::size_t>(i)], random));
            options interpreted, compiled;
            interpreted.isa = compiled.isa = isa;
            compiled.compiled = true;
            compiled.in_place = repeat % 2;
            const auto a = run(t, constants, inputs, interpreted), b = run(t, constants, inputs, compiled);
            for (std::size_t o = 0; o < a.size(); ++o) {
                INFO(name_of(isa), " output ", o, " repeat ", repeat);
                REQUIRE(same_bits(a[o], b[o]));
            }
        }
    }
}

template <class E> void check(const char* name, const E& expression) {
    INFO(name);
    std::mt19937 random(7);
    using tree = typename E::tree_type;
    const graph g;
    const graph_scope scope(g);
    detail::operand_list operands;
    detail::bits_list constants;
    expression.tree().collect(operands, constants);
    detail::compile<detail::forward_program<tree>, detail::backward_program<tree>>();
    compare(detail::forward_program<tree>::code, constants, random);
    if (detail::backward_program<tree>::code.output_count > 0)
        compare(detail::backward_program<tree>::code, constants, random);
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
