#pragma once

#include <cstddef>
#include <limits>

#include <tenon/simd/isa.hpp>
#include <tenon/tape/opcode.hpp>

/// Instructions on arrays: a function for each instruction, element type and instruction set. The interpreter is made
/// of them, and their results are those of compiled kernels, to the bit.

namespace tenon::detail {

/// A multiple of every instruction set's lanes: steps work on whole registers, so that no lane is without an element.
inline constexpr std::ptrdiff_t step_elements = 16;

/// One instruction on n elements, at least the lanes of the instruction set that it was found for. What it does not need of a, b, c, d is
/// ignored; `to` may be one of them where its elements are not larger and n is a multiple of the lanes: beyond whole packs some are
/// computed again.
using step_function = void (*)(void* to, const void* a, const void* b, const void* c, const void* d, std::ptrdiff_t n);

/// The step of an instruction whose (first, for select the chosen) operands have compute type `e`.
step_function find_step(simd::isa which, opcode op, element_type e) noexcept;
/// From elements in memory (compute type) to the compute type of `to`, rounded to `to`.
step_function find_cast(simd::isa which, element_type from, element_type to) noexcept;
/// From the storage type to its compute type, and back.
step_function find_load(simd::isa which, element_type stored) noexcept;
step_function find_store(simd::isa which, element_type stored) noexcept;
/// n elements as they are, for any n.
step_function find_copy(element_type e) noexcept;

/// An operand of apply_step.
struct step_operand {
    const void* data = nullptr;
    std::size_t bytes = 0; ///< of an element
};
/// A step on any number of elements, neither reading nor writing beyond them; what it gives has `bytes` bytes an element.
void apply_step(step_function f, void* to, std::size_t bytes, std::ptrdiff_t n, step_operand a, step_operand b = {},
                step_operand c = {}) noexcept;

/// The instructions of joined_trees[tree] as one step on its operands; nullptr where they are steps one by one.
step_function find_joined(simd::isa which, int tree, element_type e) noexcept;

/// How elements are combined over dimensions. The squares are those of distances from the mean.
enum class combining { sum, least, largest, squares };

/// What is combined is kept in double. NaN goes through.
struct reduction_steps {
    /// found[k] combined with values[k], values[n + k], .. of so many rows, for k < n
    void (*columns)(double* found, const void* values, std::ptrdiff_t rows, std::ptrdiff_t n);
    /// found[r * step] combined with values[r * n] .. values[r * n + n - 1], for r < rows
    void (*rows)(double* found, std::ptrdiff_t step, const void* values, std::ptrdiff_t rows, std::ptrdiff_t n);
    void (*finish)(void* to, const double* found, std::ptrdiff_t n); ///< to[k] = found[k], rounded
};
/// Of combining::squares: how many elements there were, their sums and the squares, each stretch's about its own mean, joined by the formula of
/// T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
struct moment_steps {
    /// As of reduction_steps; the sums lie `apart` numbers after the counts, and the squares as far after these.
    void (*columns)(double* found, std::ptrdiff_t apart, const void* values, std::ptrdiff_t rows, std::ptrdiff_t n);
    void (*rows)(double* found, std::ptrdiff_t apart, std::ptrdiff_t step, const void* values, std::ptrdiff_t rows,
                 std::ptrdiff_t n);
};
/// What was found of some elements, joined with what was found of others.
inline void join_moments(double* found, std::ptrdiff_t apart, double count, double sum, double squares) noexcept {
    double &n = found[0], &all = found[apart];
    if (count == 0) return;
    const double distance = n == 0 ? 0 : sum / count - all / n;
    found[2 * apart] += squares + distance * distance * (n * count / (n + count));
    all += sum;
    n += count;
}
const moment_steps& find_moments(simd::isa which, element_type e) noexcept;
/// For elements of float32 or float64; not of squares.
const reduction_steps& find_reductions(simd::isa which, element_type e, combining how) noexcept;
/// What leaves every element unchanged.
inline double combined_with_nothing(combining how) noexcept {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return how == combining::least ? infinity : how == combining::largest ? -infinity : 0;
}
/// n copies of one element of so many bytes.
void fill_elements(void* to, const void* element, std::size_t size, std::ptrdiff_t n) noexcept;

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/expr/steps.ipp>
#endif
