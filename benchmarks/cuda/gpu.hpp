#pragma once

#include <cstdio>
#include <cstdlib>

#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/device/gpu_backend.hpp>
#include <tenon/runtime/session/session.hpp>

#include "cuda/by_hand.hpp"

/// What the benchmarks of a GPU share: they need one, and say so where there is none.

namespace gpu {

namespace tn = tenon;

/// False, and why in one line, where this machine has no GPU: then the benchmark ends. What is measured is compiled kernels, never
/// what stands in for them while they are compiled.
inline bool is_there() {
    (void)setenv("TENON_CUDA_TAPES", "compiled", 0);
    const auto linked = tn::linked_gpu_backend();
    if (linked && !linked->physical().empty()) {
        std::printf("%s\n", linked->physical().front().description.c_str());
        return true;
    }
    std::printf("skipped: no GPU: %s\n", linked ? linked->why_none().c_str() : "tenon::cuda is not linked");
    return false;
}

/// What is measured is done so many times in a step, so that starting and waiting for one is little of it.
inline constexpr int times_over = 4;

} // namespace gpu
