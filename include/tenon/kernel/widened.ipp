#pragma once

#include <tenon/kernel/simd/pack.hpp>
#include <tenon/kernel/widened.hpp>

#define TENON_SIMD_FILE <tenon/kernel/widened.inl>
#include <tenon/kernel/simd/for_each_isa.hpp>

namespace tenon::detail {

template <class From, class To> void convert_in_parts(const From* from, To* to, std::int64_t n, thread_pool* pool) {
    using function = void (*)(const From*, To*, std::int64_t);
    function f = &simd::baseline::convert_elements<From, To>;
#if defined(__x86_64__)
    if (simd::best_isa() == simd::isa::avx512) f = &simd::avx512::convert_elements<From, To>;
    else if (simd::best_isa() == simd::isa::avx2) f = &simd::avx2::convert_elements<From, To>;
#endif
    const auto part = [&](std::int64_t begin, std::int64_t end) { f(from + begin, to + begin, end - begin); };
    if (pool) pool->parallel_for(n, 1 << 17, part);
    else if (n > 0) part(0, n);
}

TENON_INLINE void widen(const void* from, element_type element, float* to, std::int64_t n, thread_pool* pool) {
    if (element == element_type::float16) convert_in_parts(static_cast<const half*>(from), to, n, pool);
    else convert_in_parts(static_cast<const bfloat16*>(from), to, n, pool);
}
TENON_INLINE void narrow(const float* from, void* to, element_type element, std::int64_t n, thread_pool* pool) {
    if (element == element_type::float16) convert_in_parts(from, static_cast<half*>(to), n, pool);
    else convert_in_parts(from, static_cast<bfloat16*>(to), n, pool);
}

} // namespace tenon::detail
