#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/fault.hpp>
#include <tenon/tape/tape.hpp>

/// A loop whose runs are elementwise, and what functions that are compiled for one are called with.

namespace tenon::detail {

/// Some runs of one of a loop's tapes, for some elements.
struct loop_call {
    const void* const* in; ///< by input: where the first run reads it; an element, where that is for all
    const std::ptrdiff_t*
        in_steps;                  ///< by input: bytes from there to where the next run does; not of what is carried on
    void* const* out;              ///< by output: see who is called
    const std::int64_t* constants; ///< bits of each scalar
    std::ptrdiff_t runs, count;    ///< runs: at least one; count: elements, a multiple of the lanes
};
/// How many runs there were: fewer than call.runs where the condition ended the loop.
using loop_function = std::ptrdiff_t (*)(const loop_call& call);

/// One of the two tapes of a loop.
struct loop_part {
    tape code;
    std::vector<std::int64_t> constants; ///< bits of each scalar
    std::vector<int> operands;           ///< by input: of the loop
    std::vector<int> results;            ///< by output: of the loop; -1: its condition, which is the first
    loop_function function = nullptr;    ///< nullptr: the interpreter's
};

/// A loop of elementwise runs. Its operands are what it carries, slices, and what all runs are given; its results what it carries on, then
/// what it gives.
struct loop_program {
    std::vector<tensor_type> operands;  ///< of sliced ones a slice
    std::vector<tensor_type> results;   ///< of one run
    std::vector<const void*> constants; ///< the last of the operands
    std::size_t carried = 0, sliced = 0;
    loop_part uniform;  ///< of what is one element, and of nothing else
    loop_part elements; ///< the other results, all of the same sizes
    bool asks() const noexcept { return !uniform.results.empty() && uniform.results[0] < 0; }
};

} // namespace tenon::detail
