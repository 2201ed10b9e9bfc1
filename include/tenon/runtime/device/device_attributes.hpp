#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/device_name.hpp>

namespace tenon {

struct device_attributes {
    device_name name;        ///< complete: "/job:localhost/replica:0/task:0/device:GPU:0"
    std::int64_t memory = 0; ///< bytes
    std::string description = {};
    bool simulated = false; ///< a GPU that the CPU plays: its kernels are the CPU's
    int capability = 0;     ///< of a CUDA GPU its compute capability, times ten; 0: it has none
};

/// The devices of this machine: its CPU, and the GPUs of a linked GPU library.
std::vector<device_attributes> list_physical_devices();

} // namespace tenon
