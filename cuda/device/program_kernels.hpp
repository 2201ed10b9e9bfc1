#pragma once

#include <string>

#include <tenon/op/kernel.hpp>

/// Kernels that a program brings for ops of its own (op_definition::gpu). A GPU says that some kernel did what it may not, and not which: so
/// these leave a mark in the host's memory when they begin and when they have ended.

namespace tenon::cuda {

/// The op's own kernel, between its marks.
kernel_pointer prepare_program_kernel(const kernel_setup& s);

/// "it happened in the kernel of node \"x\" (my_op)", where one has begun on the card and not ended; else empty.
std::string unended_program_kernel();

} // namespace tenon::cuda
