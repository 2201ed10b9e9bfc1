#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/tape/tape.hpp>

/// What an elementwise node holds, and what its kernels are called with.

namespace tenon {

struct fused_attributes {
    std::shared_ptr<const tenon::tape> tape;
    std::vector<std::int64_t> constants = {}; ///< bits of each scalar, in its compute type
    /// For each output of the tape the index of an earlier one that it is added to, or -1. An operand that
    /// occurs twice in an expression gets one gradient this way. Empty: all -1.
    std::vector<std::int64_t> merge = {};
    bool merges(int output) const { return !merge.empty() && merge[static_cast<std::size_t>(output)] >= 0; }
    /// Index in the tape of the node's output `output`.
    int tape_output_of(int output) const {
        int o = 0;
        for (;; ++o)
            if (!merges(o) && output-- == 0) return o;
    }
};

namespace detail {

/// A stretch of elements, and all that a fused kernel needs to compute it.
struct fused_call {
    const void* const* in;         ///< for each input of the tape its first element, dense; nullptr where not loaded
    void* const* out;              ///< for each output of the tape
    const std::int64_t* constants; ///< bits of each scalar
    std::ptrdiff_t count;          ///< elements
    std::uint32_t wide;            ///< bit o: output o is stored in its compute type
    std::uint32_t added;           ///< bit o: output o is added to what an earlier output stored,
    const std::int64_t* into;      ///< to output into[o], which has the same pointer
    std::byte* scratch;            ///< the interpreter's registers, aligned to 64
    const void* program;           ///< the interpreter's step_program
};

/// A compiled kernel for one tape: a function per instruction set, nullptr where none was compiled.
using fused_function = void (*)(const fused_call&);
struct compiled_tape {
    fused_function avx512 = nullptr;
    fused_function avx2 = nullptr;
    fused_function baseline = nullptr;
};

/// Enters a compiled kernel; the tape must live for ever.
void register_compiled_tape(const tape& t, const compiled_tape& functions);
/// The compiled kernel for a tape, or nullptr: then the interpreter runs it.
const compiled_tape* find_compiled_tape(const tape& t);

} // namespace detail
} // namespace tenon
