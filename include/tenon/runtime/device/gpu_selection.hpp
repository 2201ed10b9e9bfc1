#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <tenon/core/config.hpp>

/// Which of a machine's GPUs a task has, and as how many devices.

namespace tenon {

/// The same for real GPUs and simulated ones. Cards are numbered as list_physical_devices() lists them: of real GPUs these are the ones that
/// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER leave, and in that order.
struct gpu_selection {
    /// Cards in the order of the devices that they become: {3, 2} makes card 3 /gpu:0. Empty: none, the CPU alone. Not set: all.
    std::optional<std::vector<int>> visible = {};
    /// By visible card: bytes of each of the devices that it is offered as; none: one device under the memory_policy. {{1 << 30, 1 << 30}}
    /// makes two devices of the first card.
    std::vector<std::vector<std::size_t>> logical = {};
    /// Real cards of a lesser compute capability, here times ten, are left out, and the placement log, or else standard error, is
    /// told. Those named in `visible` too.
    int least_capability = 75;

    friend bool operator==(const gpu_selection&, const gpu_selection&) = default;
};

} // namespace tenon
