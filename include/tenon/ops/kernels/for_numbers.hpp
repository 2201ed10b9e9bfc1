#pragma once

#include <cstdint>
#include <memory>

#include <tenon/core/half.hpp>
#include <tenon/kernel/kernel.hpp>

/// Kernels that only add: one instance for each element type that adds in a way of its own.

namespace tenon::detail {

template <template <class> class Kernel> kernel_pointer prepare_for_numbers(element_type e, const kernel_setup& s) {
    switch (e) {
    case element_type::float32: return std::make_unique<Kernel<float>>(s);
    case element_type::float64: return std::make_unique<Kernel<double>>(s);
    case element_type::float16: return std::make_unique<Kernel<half>>(s);
    case element_type::bfloat16: return std::make_unique<Kernel<bfloat16>>(s);
    // Sums of integers wrap around: signed and unsigned ones have the same bits.
    case element_type::int8:
    case element_type::uint8: return std::make_unique<Kernel<std::uint8_t>>(s);
    case element_type::int16:
    case element_type::uint16: return std::make_unique<Kernel<std::uint16_t>>(s);
    case element_type::int32:
    case element_type::uint32: return std::make_unique<Kernel<std::uint32_t>>(s);
    default: return std::make_unique<Kernel<std::uint64_t>>(s);
    }
}

} // namespace tenon::detail
