#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/fault.hpp>
#include <tenon/expr/fused_call.hpp>
#include <tenon/expr/fused_layout.hpp>
#include <tenon/tape/tape.hpp>

/// What a tape's kernel on a GPU depends on beside the tape, and the numbers that it is called with.

namespace tenon::cuda::tapes {

/// What becomes of an output's elements.
enum class fate : std::uint8_t {
    stored,  ///< each goes to its place
    summed,  ///< summed over the dimensions that its `like` repeats
    totalled ///< summed up altogether, beside sums that keep some dimension
};

/// A class of layouts: what is repeated along which dimensions, in the terms of kernels/tape/loops.hpp. No sizes.
struct form {
    int dims = 1;                            ///< once neighbours that all operands have or repeat together are one
    int kept = 1;                            ///< of those, the ones that are not summed over; they come first
    bool columns = true;                     ///< the fastest dimension is a kept one
    bool wide_index = false;                 ///< elements are counted in 64 bits
    int width = 1;                           ///< elements of a pack: at most 16 bytes of every operand
    int packs = 1;                           ///< that a thread reads before it computes with the first
    int groups = 1;                          ///< operands that lie alike; 0: those with every element
    std::int8_t group_of[max_tape_inputs]{}; ///< of each input of the tape; -1: it has one element, or is not read
    bool along[max_tape_inputs + 1]{true};   ///< whether the group has elements along the fastest dimension
    fate fates[max_tape_outputs]{};

    int count(fate f, const tape& t) const noexcept {
        int n = 0;
        for (int o = 0; o < t.output_count; ++o) n += fates[o] == f;
        return n;
    }
};

/// One kernel's way through all elements. What a tape sums over different dimensions takes several: each reads the inputs again.
struct pass {
    tape code; ///< what is computed in it
    form shape = {};
    std::vector<int> made; ///< the node's output that an output of `code` is
    // Numbers, of dimensions in the order of form::dims.
    std::vector<std::int64_t> sizes = {};
    std::vector<std::int64_t> strides = {}; ///< [groups][dims]
    std::int64_t kept = 1, summed = 1;      ///< elements
    bool whole_packs =
        false; ///< no pack goes beyond the end of the fastest dimension, and each begins at a multiple of a pack
    std::int64_t firsts[max_tape_inputs]{}; ///< the element of each input that is read first

    std::int64_t elements() const noexcept { return kept * summed; }
    bool sums() const noexcept { return shape.kept < shape.dims; }
};

/// The passes for a tape whose outputs are merged (with_merged_outputs) on inputs of these sizes, with at least one element. The last
/// one stores what is not summed: outputs may lie where inputs lie.
std::vector<pass> make_passes(const tape& merged, type_list inputs,
                              const std::vector<detail::operand_part>& parts = {});

/// What divides n < 2^31 by `size` in device code.
std::uint64_t divisor_of(std::int64_t size) noexcept;

} // namespace tenon::cuda::tapes
