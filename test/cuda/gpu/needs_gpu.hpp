#pragma once

#include <cstdio>

#include <tenon/runtime/device/gpu_backend.hpp>

/// True where this machine has a GPU; else says on standard output why it has none.
inline bool has_gpu() {
    const auto linked = tenon::linked_gpu_backend();
    if (linked && !linked->physical().empty()) return true;
    std::printf("no GPU: %s\n", linked ? linked->why_none().c_str() : "tenon::cuda is not linked");
    return false;
}
