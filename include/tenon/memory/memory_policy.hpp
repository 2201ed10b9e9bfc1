#pragma once

#include <cstddef>
#include <string>

#include <tenon/core/config.hpp>

/// How much of a device's memory may be used, and when it is taken.

namespace tenon {

struct memory_policy {
    /// The part of the device's memory that may be used: above 0, at most 1.
    double fraction = 1;
    /// Memory is taken from the device as it is needed; false: all that may be used, when the device is made.
    bool growth = true;
    /// Bytes that may be used, whatever the fraction is; 0: the fraction decides.
    std::size_t limit = 0;

    friend bool operator==(const memory_policy&, const memory_policy&) = default;
};

/// Throws invalid_argument_error, which names the option and the device, unless `fraction` is above 0 and at most 1,
/// `limit` is within the device's `device_bytes`, and something is left to be used.
void require_valid(const memory_policy& policy, std::size_t device_bytes, const std::string& device);

/// Bytes that may be used of a device that has `device_bytes`.
std::size_t usable_bytes(const memory_policy& policy, std::size_t device_bytes) noexcept;

/// The policy, with `growth` as the environment variable TENON_GPU_ALLOW_GROWTH says where that is set: "true" or "1",
/// "false" or "0". Throws invalid_argument_error where it says something else.
memory_policy with_environment(memory_policy policy);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/memory/memory_policy.ipp>
#endif
