#pragma once

#include <cstring>

#include <tenon/expr/evaluate.hpp>
#include <tenon/tape/joined_steps.hpp>
#include <tenon/expr/steps.hpp>

#define TENON_SIMD_FILE <tenon/expr/steps.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

TENON_INLINE step_function find_step(simd::isa which, opcode op, element_type e) noexcept {
    const step_function f = TENON_SIMD_OF(which, step_for(op, e));
    return f ? f : simd::baseline::step_for(op, e);
}
TENON_INLINE step_function find_cast(simd::isa which, element_type from, element_type to) noexcept {
    const step_function f = TENON_SIMD_OF(which, cast_for(from, to));
    return f ? f : simd::baseline::cast_for(from, to);
}
TENON_INLINE step_function find_load(simd::isa which, element_type stored) noexcept {
    return TENON_SIMD_OF(which, load_of(stored));
}
TENON_INLINE step_function find_store(simd::isa which, element_type stored) noexcept {
    return TENON_SIMD_OF(which, store_of(stored));
}
TENON_INLINE step_function find_joined(simd::isa which, int tree, element_type e) noexcept {
    return TENON_SIMD_OF(which, joined_of(tree, e));
}
TENON_INLINE const reduction_steps& find_reductions(simd::isa which, element_type e, combining how) noexcept {
    return TENON_SIMD_OF(which, reductions_of(e, how));
}
TENON_INLINE const moment_steps& find_moments(simd::isa which, element_type e) noexcept {
    return e == element_type::float32 ? TENON_SIMD_OF(which, moments<float>) : TENON_SIMD_OF(which, moments<double>);
}

template <int Size> void copy_step(void* to, const void* a, const void*, const void*, const void*, std::ptrdiff_t n) {
    if (to != a) std::memcpy(to, a, static_cast<std::size_t>(n) * Size);
}
TENON_INLINE step_function find_copy(element_type e) noexcept {
    const std::size_t size = size_of(e);
    return size == 1 ? &copy_step<1> : size == 2 ? &copy_step<2> : size == 4 ? &copy_step<4> : &copy_step<8>;
}

TENON_INLINE void apply_step(step_function f, void* to, std::size_t bytes, std::ptrdiff_t n, step_operand a,
                             step_operand b, step_operand c) noexcept {
    const std::ptrdiff_t whole = n & -step_elements, rest = n - whole;
    if (whole > 0) f(to, a.data, b.data, c.data, nullptr, whole);
    if (rest == 0) return;
    alignas(64) std::byte last[3][step_elements * 8], result[step_elements * 8];
    const auto filled = [&](int k, const step_operand& x) -> const void* {
        if (!x.data) return nullptr;
        const auto* from = static_cast<const std::byte*>(x.data) + static_cast<std::size_t>(whole) * x.bytes;
        TENON_SIMD_BEST(fill_up_of(x.bytes))(last[k], from, nullptr, nullptr, nullptr, rest);
        return last[k];
    };
    f(result, filled(0, a), filled(1, b), filled(2, c), nullptr, step_elements);
    std::memcpy(static_cast<std::byte*>(to) + static_cast<std::size_t>(whole) * bytes, result,
                static_cast<std::size_t>(rest) * bytes);
}

TENON_INLINE void fill_elements(void* to, const void* element, std::size_t size, std::ptrdiff_t n) noexcept {
    // What is filled doubles, so that it is written in large pieces.
    auto* bytes = static_cast<std::byte*>(to);
    const std::size_t all = size * static_cast<std::size_t>(n);
    if (all == 0) return;
    std::memcpy(bytes, element, size);
    for (std::size_t done = size; done < all;) {
        const std::size_t more = done < all - done ? done : all - done;
        std::memcpy(bytes + done, bytes, more);
        done += more;
    }
}

} // namespace tenon::detail
