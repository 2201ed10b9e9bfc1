#pragma once

#include <tenon/tenon.hpp>

#include <cstddef>
#include <memory>

// For session_options::gpus: this machine's GPUs, where a GPU library is linked and there are enough of them; else as
// many simulated ones, which the CPU plays in 64 MB, or so many bytes, each.
inline std::shared_ptr<const tenon::gpu_backend> gpus(std::size_t count, std::size_t bytes = std::size_t{64} << 20) {
    auto linked = tenon::linked_gpu_backend();
    if (linked && linked->physical().size() >= count) return linked;
    return tenon::simulated_gpu(static_cast<int>(count), bytes);
}
