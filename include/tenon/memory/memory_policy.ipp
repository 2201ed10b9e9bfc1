#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/memory/memory_policy.hpp>

namespace tenon {

TENON_INLINE void require_valid(const memory_policy& policy, std::size_t device_bytes, const std::string& device) {
    char fraction[32];
    std::snprintf(fraction, sizeof fraction, "%g", policy.fraction);
    const std::string of_device = std::to_string(device_bytes) + " bytes of " + device;
    if (!(policy.fraction > 0 && policy.fraction <= 1)) // nor is NaN
        throw invalid_argument_error("memory_policy::fraction is " + std::string(fraction) + " of the " + of_device +
                                     "; give the part that may be used, above 0 and at most 1");
    if (policy.limit > device_bytes)
        throw invalid_argument_error("memory_policy::limit is " + std::to_string(policy.limit) +
                                     ", which is more than the " + of_device +
                                     "; give at most that, or 0 for the fraction to decide");
    if (usable_bytes(policy, device_bytes) == 0)
        throw invalid_argument_error("memory_policy::fraction is " + std::string(fraction) + " of the " + of_device +
                                     ", which is nothing; give a larger one, or a device with more memory");
}

TENON_INLINE std::size_t usable_bytes(const memory_policy& policy, std::size_t device_bytes) noexcept {
    if (policy.limit) return policy.limit;
    if (policy.fraction >= 1) return device_bytes; // which a double may not hold
    return static_cast<std::size_t>(policy.fraction * static_cast<double>(device_bytes));
}

TENON_INLINE memory_policy with_environment(memory_policy policy) {
    const char* const set = std::getenv("TENON_GPU_ALLOW_GROWTH");
    const std::string_view growth = set ? set : "";
    if (growth == "true" || growth == "1") policy.growth = true;
    else if (growth == "false" || growth == "0") policy.growth = false;
    else if (!growth.empty())
        throw invalid_argument_error("the environment variable TENON_GPU_ALLOW_GROWTH is \"" + std::string(growth) +
                                     "\"; set it to true or 1, false or 0, or not at all");
    return policy;
}

} // namespace tenon
