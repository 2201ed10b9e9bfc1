#pragma once

#include <cuda/kernels/tape/interpreter.hpp>
#include <cuda/tapes/schedule.hpp>

/// Passes for the interpreter of tapes.

namespace tenon::cuda::tapes {

/// All but pointers.
interpreter_call interpret_pass(const pass& p, const schedule& s, const std::vector<std::int64_t>& constants);

} // namespace tenon::cuda::tapes
