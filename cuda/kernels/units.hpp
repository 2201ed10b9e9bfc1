#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

/// What elements are moved as that nothing is computed of.

namespace tenon::cuda {

struct alignas(16) sixteen_bytes {
    std::uint64_t low, high;
};

/// f(U()) for the type U of this many bytes: 1, 2, 4, 8 or 16.
template <class F> void with_unit(std::int64_t bytes, F&& f) {
    switch (bytes) {
    case 1: return f(std::uint8_t());
    case 2: return f(std::uint16_t());
    case 4: return f(std::uint32_t());
    case 8: return f(std::uint64_t());
    default: return f(sixteen_bytes());
    }
}
/// The same of an element, of at most 8 bytes.
template <class F> void with_element_unit(std::size_t bytes, F&& f) {
    switch (bytes) {
    case 1: return f(std::uint8_t());
    case 2: return f(std::uint16_t());
    case 4: return f(std::uint32_t());
    default: return f(std::uint64_t());
    }
}

/// The lower `element_bytes` bytes of a value over and over, in 8 bytes.
__host__ __device__ inline std::uint64_t repeated_bits(std::uint64_t value, std::size_t element_bytes) {
    switch (element_bytes) {
    case 1: return (value & 0xff) * 0x0101010101010101u;
    case 2: return (value & 0xffff) * 0x0001000100010001u;
    case 4: return (value & 0xffffffff) * 0x0000000100000001u;
    default: return value;
    }
}

} // namespace tenon::cuda
