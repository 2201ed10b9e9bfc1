#pragma once

#include <type_traits>

#include <tenon/core/with_element.hpp>
#include <tenon/simd/ordered_sum.hpp>
#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <tenon/simd/ordered_sum.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon {

namespace detail {

template <class T>
void add_floats_in_order(const std::vector<const void*>& from, const std::vector<double>& factors, void* to,
                         std::int64_t n) {
    std::vector<const T*> typed;
    for (const void* f : from) typed.push_back(static_cast<const T*>(f));
    const int count = static_cast<int>(typed.size());
    if (factors.empty()) TENON_SIMD_BEST(add_in_order<T, false>)(typed.data(), nullptr, count, static_cast<T*>(to), n);
    else TENON_SIMD_BEST(add_in_order<T, true>)(typed.data(), factors.data(), count, static_cast<T*>(to), n);
}

template <class T>
void add_rows_of(const scattered_rows<T>& rows, std::int64_t first, std::int64_t count, std::int64_t ahead, bool onto,
                 T* to) {
    const auto add = [&]<class I>(const I* indices) {
        TENON_SIMD_BEST(add_rows<T, I>)(rows.x, indices + first, count, ahead, onto, rows.n, to);
    };
    if (rows.is_long) add(static_cast<const std::int64_t*>(rows.indices));
    else add(static_cast<const std::int32_t*>(rows.indices));
}
TENON_INLINE void add_rows(const scattered_rows<float>& rows, std::int64_t first, std::int64_t count,
                           std::int64_t ahead, bool onto, float* to) {
    add_rows_of(rows, first, count, ahead, onto, to);
}
TENON_INLINE void add_rows(const scattered_rows<double>& rows, std::int64_t first, std::int64_t count,
                           std::int64_t ahead, bool onto, double* to) {
    add_rows_of(rows, first, count, ahead, onto, to);
}

} // namespace detail

TENON_INLINE void ordered_sum(element_type element, const std::vector<const void*>& from,
                              const std::vector<double>& factors, void* to, std::int64_t n) {
    detail::with_element(element, [&](auto x) {
        using T = decltype(x);
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            for (std::int64_t i = 0; i < n; ++i) {
                std::uint64_t sum = 0;
                for (const void* f : from) sum += static_cast<std::uint64_t>(static_cast<const T*>(f)[i]);
                static_cast<T*>(to)[i] = static_cast<T>(sum);
            }
        } else if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, std::string>)
            detail::add_floats_in_order<T>(from, factors, to, n);
        else throw internal_error("ordered_sum: only numbers have a sum");
    });
}

} // namespace tenon
