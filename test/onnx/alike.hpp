#pragma once

#include <cmath>
#include <cstdint>

#include <tenon/core/array/any_array.hpp>

// As ONNX compares: 1e-3 of the value, and infinities and NaNs alike. What is rounded to 16 bits on the way is given a bit more.
inline bool alike(const tn::any_array& given, const tn::any_array& wanted) {
    if (given.type() != wanted.type()) return false;
    const auto compare = [&]<class T>(T) {
        for (std::int64_t i = 0; i < given.elements(); ++i) {
            const auto a = static_cast<double>(given.data<T>()[i]), b = static_cast<double>(wanted.data<T>()[i]);
            if (a == b || (std::isnan(a) && std::isnan(b))) continue;
            if (!tn::is_floating(given.element())) return false;
            const double bound = std::is_same_v<T, tn::bfloat16> ? 2e-2 : sizeof(T) == 2 ? 1e-2 : 1e-3;
            if (!(std::abs(a - b) <= 2e-6 + bound * std::abs(b))) return false;
        }
        return true;
    };
    if (given.element() == tn::element_type::string) return given == wanted;
    switch (given.element()) {
    case tn::element_type::float32: return compare(float{});
    case tn::element_type::float64: return compare(double{});
    case tn::element_type::float16: return compare(tn::half{});
    case tn::element_type::bfloat16: return compare(tn::bfloat16{});
    case tn::element_type::int8: return compare(std::int8_t{});
    case tn::element_type::int16: return compare(std::int16_t{});
    case tn::element_type::int32: return compare(std::int32_t{});
    case tn::element_type::int64: return compare(std::int64_t{});
    case tn::element_type::uint8: return compare(std::uint8_t{});
    case tn::element_type::uint16: return compare(std::uint16_t{});
    case tn::element_type::uint32: return compare(std::uint32_t{});
    case tn::element_type::uint64: return compare(std::uint64_t{});
    case tn::element_type::boolean: return compare(bool{});
    default: return false;
    }
}
