#pragma once

#include <string>
#include <vector>

#include <cuda/tapes/form.hpp>
#include <cuda/tapes/schedule.hpp>

/// Tapes as CUDA C++.

namespace tenon::cuda::tapes {

/// A kernel: its text goes behind prelude(). Equal texts have equal names.
struct kernel_source {
    std::string name; ///< of the extern "C" function
    std::string text = {};
};

/// The kernel for tapes like `code` in a form: it knows no sizes.
kernel_source write_kernel(const tape& code, const form& f);
/// One for several at a time, whose form has no sums: a block is one member's, and it is called with what write_group_arguments() writes.
kernel_source write_group_kernel(const pass& p);

/// The functions and loops that all kernels are made of.
const char* prelude();

/// The words that a kernel is called with, in the order of tapes::arguments_of. Pointers are those of the node's inputs and outputs.
struct kernel_call {
    const void* const* in; ///< of the node
    void* const* out;
    const std::int64_t* constants; ///< of the node
    double* const* partial;        ///< of each sum, then of each total
    schedule how;
};
std::vector<std::uint64_t> write_arguments(const pass& p, const kernel_call& c);
/// How many words those are.
std::size_t argument_words(const pass& p);

/// As many members as a kernel's arguments have room for.
std::size_t most_in_group(const pass& p);
/// Of up to so many, and how many blocks they are.
std::vector<std::uint64_t> write_group_arguments(const pass* const* passes, const kernel_call* calls, std::size_t count,
                                                 unsigned& blocks);

} // namespace tenon::cuda::tapes
