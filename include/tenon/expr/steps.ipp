#pragma once

#include <cstring>

#include <tenon/expr/evaluate.hpp>
#include <tenon/expr/steps.hpp>

#define TENON_SIMD_FILE <tenon/expr/steps.inl>
#include <tenon/kernel/simd/for_each_isa.hpp>

namespace tenon::detail {

// The widest instruction set up to `which` that has steps for all of the types.
template <class F> step_function widest(simd::isa which, const F& find) noexcept {
    step_function f = nullptr;
#if defined(__x86_64__)
    if (which == simd::isa::avx512) f = find([](element_type e) { return simd::avx512::steps_of(e); });
    if (which == simd::isa::avx2) f = find([](element_type e) { return simd::avx2::steps_of(e); });
#endif
    if (!f) f = find([](element_type e) { return simd::baseline::steps_of(e); });
    return f;
}

TENON_INLINE step_function find_step(simd::isa which, opcode op, element_type e) noexcept {
    return widest(which, [&](auto steps_of) -> step_function {
        const auto* s = steps_of(e);
        return s ? s->ops[static_cast<int>(op)] : nullptr;
    });
}
TENON_INLINE step_function find_cast(simd::isa which, element_type from, element_type to) noexcept {
    return widest(which, [&](auto steps_of) -> step_function {
        const auto* s = steps_of(compute_type(from));
        return s ? s->casts[static_cast<int>(to)] : nullptr;
    });
}
TENON_INLINE step_function find_load(simd::isa which, element_type stored) noexcept {
#if defined(__x86_64__)
    if (which == simd::isa::avx512) return simd::avx512::load_of(stored);
    if (which == simd::isa::avx2) return simd::avx2::load_of(stored);
#endif
    return simd::baseline::load_of(stored);
}
TENON_INLINE step_function find_store(simd::isa which, element_type stored) noexcept {
#if defined(__x86_64__)
    if (which == simd::isa::avx512) return simd::avx512::store_of(stored);
    if (which == simd::isa::avx2) return simd::avx2::store_of(stored);
#endif
    return simd::baseline::store_of(stored);
}
TENON_INLINE step_function find_pair(simd::isa which, opcode first, opcode second, joint how, element_type e) noexcept {
#if defined(__x86_64__)
    const bool single = e == element_type::float32;
    if (!single && e != element_type::float64) return nullptr;
    if (which == simd::isa::avx512)
        return single ? simd::avx512::pair_of<float>(first, second, how)
                      : simd::avx512::pair_of<double>(first, second, how);
    if (which == simd::isa::avx2)
        return single ? simd::avx2::pair_of<float>(first, second, how)
                      : simd::avx2::pair_of<double>(first, second, how);
#else
    (void)which, (void)first, (void)second, (void)how, (void)e;
#endif
    return nullptr;
}
TENON_INLINE const reduction_steps& find_reductions(simd::isa which, element_type e) noexcept {
    const bool single = e == element_type::float32;
#if defined(__x86_64__)
    if (which == simd::isa::avx512) return single ? simd::avx512::reductions<float> : simd::avx512::reductions<double>;
    if (which == simd::isa::avx2) return single ? simd::avx2::reductions<float> : simd::avx2::reductions<double>;
#endif
    return single ? simd::baseline::reductions<float> : simd::baseline::reductions<double>;
}

template <int Size> void copy_step(void* to, const void* a, const void*, const void*, const void*, std::ptrdiff_t n) {
    if (to != a) std::memcpy(to, a, static_cast<std::size_t>(n) * Size);
}
TENON_INLINE step_function find_copy(element_type e) noexcept {
    const std::size_t size = size_of(e);
    return size == 1 ? &copy_step<1> : size == 2 ? &copy_step<2> : size == 4 ? &copy_step<4> : &copy_step<8>;
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
