#pragma once

#include <doctest/doctest.h>

#include <random>

#include <tenon/expr/compiled.hpp>

#include "run_tape.hpp"

namespace tape_test {

/// Requires that the kernel compiled for a tape gives what the interpreter gives, to the bit: on every instruction set,
/// for random sizes with broadcasts, results in memory of their own and in place of operands.
inline void require_same(const tape& t, const std::vector<std::int64_t>& constants, std::mt19937& random,
                         int repeats = 12) {
    const detail::compiled_tape* functions = detail::find_compiled_tape(t);
    REQUIRE(functions != nullptr);
    for (const simd::isa isa : available()) {
        const bool has = (isa == simd::isa::avx512 ? functions->avx512
                          : isa == simd::isa::avx2 ? functions->avx2
                                                   : functions->baseline) != nullptr;
        if (!has) continue;
        for (int repeat = 0; repeat < repeats; ++repeat) {
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
                INFO(std::string(name_of(isa)), " output ", o, " repeat ", repeat);
                REQUIRE(same_bits(a[o], b[o]));
            }
        }
    }
}

/// The same for an expression's tapes, forward and backward.
template <class E> void require_compiled_as_interpreted(const E& expression, std::mt19937& random, int repeats = 12) {
    using tree = typename E::tree_type;
    detail::expression_parts parts;
    expression.tree().collect(parts);
    const std::vector<std::int64_t>& constants = parts.numbers;
    detail::compile<detail::forward_program<tree>, detail::gradient_program<detail::forward_program<tree>>>();
    require_same(detail::forward_program<tree>::code, constants, random, repeats);
    if (detail::gradient_program<detail::forward_program<tree>>::code.output_count > 0)
        require_same(detail::gradient_program<detail::forward_program<tree>>::code, constants, random, repeats);
}

} // namespace tape_test
