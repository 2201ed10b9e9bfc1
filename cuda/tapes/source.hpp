#pragma once

#include <string>
#include <vector>

#include <cuda/tapes/form.hpp>

/// Tapes as CUDA C++.

namespace tenon::cuda::tapes {

/// A kernel: its text goes behind prelude(). Equal texts have equal names.
struct kernel_source {
    std::string name; ///< of the extern "C" function
    std::string text;
};

/// The kernel for tapes like `code` in a form: it knows no sizes.
kernel_source write_kernel(const tape& code, const form& f);

/// The functions and loops that all kernels are made of.
const char* prelude();

/// The words that a kernel is called with, in the order of tapes::arguments_of. Pointers are those of the node's inputs and outputs.
struct kernel_call {
    const void* const* in; ///< of the node
    void* const* out;
    const std::int64_t* constants; ///< of the node
    double* const* partial;        ///< of each sum, then of each total
    bool packed;
    std::int64_t lanes, chunks;
};
std::vector<std::uint64_t> write_arguments(const pass& p, const kernel_call& c);
/// How many words those are.
std::size_t argument_words(const pass& p);

} // namespace tenon::cuda::tapes
