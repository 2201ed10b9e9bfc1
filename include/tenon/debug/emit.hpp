#pragma once

#include <string>
#include <utility>

#include <tenon/runtime/session/session.hpp>

/// What an expression, or a step, becomes: tapes, kernels, and what was not fused and why.
///
///     std::cout << tn::emit(relu(matmul(x, w) + b));
///     std::cout << sess.emit(tn::feed(x, images), train, loss);   // of a step, with this session's devices and sizes
///
///     add (fused) on /device:CPU:0
///         r0 = input 0: matmul, float[50, 300]
///         r1 = input 1: b, float[300]
///         r2 = add r0 r1
///         ...

namespace tenon {

/// Of a step that fetches these, in a session of its own with the devices of this machine. What is open in their sizes must be fed.
template <class... F> std::string emit(F&&... arguments) {
    session own;
    return own.emit(std::forward<F>(arguments)...);
}

} // namespace tenon
