#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

/// Division by a number that the host knows: a product and a shift in place of the tens of instructions that a GPU takes.

namespace tenon::cuda {

/// Divides numbers below 2^31 by a number from 1 to 2^31 - 1.
struct divider {
    divider() = default;
    explicit divider(std::uint32_t n) : by(n) {
        while (shift < 31 && (std::uint32_t{1} << shift) < by) ++shift;
        const std::uint64_t rest = (std::uint64_t{1} << shift) - by;
        factor = static_cast<std::uint32_t>((rest << 32) / by + 1);
    }
    __host__ __device__ std::uint32_t quotient(std::uint32_t x) const {
        // The sum is below 2^32: the high half of the product is at most x.
        return (static_cast<std::uint32_t>(std::uint64_t{x} * factor >> 32) + x) >> shift;
    }
    /// The quotient; x becomes the rest.
    __host__ __device__ std::uint32_t divide(std::uint32_t& x) const {
        const std::uint32_t q = quotient(x);
        x -= q * by;
        return q;
    }

    std::uint32_t by = 1, factor = 1, shift = 0;
};

} // namespace tenon::cuda
