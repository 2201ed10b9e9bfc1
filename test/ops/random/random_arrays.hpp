#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/with_element.hpp>

/// Reproducible arrays of any element type, and their elements in double.

namespace tenon::test {

/// Numbers of -3 .. 3, or whole numbers -4 .. 4 (0 .. 8 for unsigned ones), or truth values.
template <class T> any_array random_array(const extents& sizes, std::uint64_t seed = 1) {
    any_array a(element_type_of<T>, sizes);
    T* p = a.data<T>();
    std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 12345;
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const auto bits = static_cast<std::uint32_t>(state >> 33);
        if constexpr (std::is_same_v<T, bool>) p[i] = bits % 3 == 0;
        else if constexpr (std::is_integral_v<T>)
            p[i] = static_cast<T>(static_cast<int>(bits % 9) - (std::is_signed_v<T> ? 4 : 0));
        else p[i] = static_cast<T>(static_cast<float>(bits % 6001) / 1000.0F - 3.0F);
    }
    return a;
}

/// The same, and element i, of an element type that is known at run time.
inline any_array random_array(element_type e, const extents& sizes, std::uint64_t seed = 1) {
    any_array a;
    tenon::detail::with_element(e, [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>) a = random_array<T>(sizes, seed);
    });
    return a;
}
inline double number(const any_array& a, std::int64_t i) {
    double v = 0;
    tenon::detail::with_element(a.element(), [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>) v = static_cast<double>(a.data<T>()[i]);
    });
    return v;
}

/// Element i, in row-major order.
template <class T> double element(const any_array& a, std::int64_t i) { return static_cast<double>(a.data<T>()[i]); }

} // namespace tenon::test
