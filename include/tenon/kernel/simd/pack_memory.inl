// Loads and stores: any alignment.

namespace tenon::simd::TENON_SIMD_NS {

template <class T> TENON_SIMD_INLINE pack<compute_t<T>> load(const T* from) {
    if constexpr (std::is_same_v<T, half>) {
        return {{widen_half(*reinterpret_cast<const native<std::uint16_t, lanes>::unaligned*>(from))}};
    } else if constexpr (std::is_same_v<T, bfloat16>) {
        return {{widen_bfloat16(*reinterpret_cast<const native<std::uint16_t, lanes>::unaligned*>(from))}};
    } else if constexpr (std::is_same_v<T, bool>) {
        using bytes = native<std::int8_t, lanes>;
        const typename bytes::type b = *reinterpret_cast<const typename bytes::unaligned*>(from);
        return mask_from(b != 0);
    } else {
        using unaligned = typename native<T, pack<T>::part_lanes>::unaligned;
        TENON_SIMD_PARTS(pack<T>, *reinterpret_cast<const unaligned*>(from + p * pack<T>::part_lanes));
    }
}

template <class T> TENON_SIMD_INLINE void store(T* to, pack<compute_t<T>> a) {
    if constexpr (std::is_same_v<T, half>) {
        *reinterpret_cast<native<std::uint16_t, lanes>::unaligned*>(to) = narrow_half(a.v[0]);
    } else if constexpr (std::is_same_v<T, bfloat16>) {
        *reinterpret_cast<native<std::uint16_t, lanes>::unaligned*>(to) = narrow_bfloat16(a.v[0]);
    } else if constexpr (std::is_same_v<T, bool>) {
        using bytes = native<std::int8_t, lanes>;
        *reinterpret_cast<typename bytes::unaligned*>(to) =
            __builtin_convertvector(a.v[0] & 1, typename bytes::type);
    } else {
        using unaligned = typename native<T, pack<T>::part_lanes>::unaligned;
        *reinterpret_cast<unaligned*>(to) = a.v[0];
        if constexpr (pack<T>::parts == 2) *reinterpret_cast<unaligned*>(to + pack<T>::part_lanes) = a.v[1];
    }
}

#if TENON_SIMD_LEVEL == 2
// The compilers' masked moves of 4 and 8-byte elements: only the lanes below n are touched.
TENON_SIMD_INLINE i32 load_words(const void* from, unsigned mask) {
    return __builtin_ia32_loaddqusi512_mask(static_cast<const int*>(from), i32{},
                                            static_cast<unsigned short>(mask));
}
TENON_SIMD_INLINE void store_words(void* to, i32 a, unsigned mask) {
    __builtin_ia32_storedqusi512_mask(static_cast<int*>(to), a, static_cast<unsigned short>(mask));
}
#elif TENON_SIMD_LEVEL == 1
TENON_SIMD_INLINE i32 load_words(const void* from, i32 mask) {
    return __builtin_ia32_maskloadd256(static_cast<const i32*>(from), mask);
}
TENON_SIMD_INLINE void store_words(void* to, i32 a, i32 mask) {
    __builtin_ia32_maskstored256(static_cast<i32*>(to), mask, a);
}
#endif

/// The first n elements (0 <= n <= lanes); the other lanes are zero. Reads nothing beyond them.
template <class T> TENON_SIMD_INLINE pack<compute_t<T>> load_partial(const T* from, int n) {
#if TENON_SIMD_LEVEL == 2
    if constexpr (sizeof(T) == 4)
        return {{bits_as<typename pack<T>::part>(load_words(from, (1U << n) - 1U))}};
    if constexpr (sizeof(T) == 8) {
        // An 8-byte element is two words: the mask is worked out for 32 of them.
        const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << (2 * n)) - 1U);
        TENON_SIMD_PARTS(
            pack<T>, bits_as<typename pack<T>::part>(load_words(from + p * 8, (mask >> (p * 16)) & 0xFFFFU)));
    }
#elif TENON_SIMD_LEVEL == 1
    if constexpr (sizeof(T) == 4)
        return {{bits_as<typename pack<T>::part>(load_words(from, i32{0, 1, 2, 3, 4, 5, 6, 7} < n))}};
    if constexpr (sizeof(T) == 8) {
        TENON_SIMD_PARTS(pack<T>, bits_as<typename pack<T>::part>(
                                      load_words(from + p * 4, i32{0, 0, 1, 1, 2, 2, 3, 3} + p * 4 < n)));
    }
#endif
    T buffer[lanes] = {};
    for (int i = 0; i < n; ++i) buffer[i] = from[i];
    return load(static_cast<const T*>(buffer));
}

/// Stores the first n lanes (0 <= n <= lanes); writes nothing beyond them.
template <class T> TENON_SIMD_INLINE void store_partial(T* to, pack<compute_t<T>> a, int n) {
#if TENON_SIMD_LEVEL == 2
    if constexpr (sizeof(T) == 4) {
        store_words(to, bits_as<i32>(a.v[0]), (1U << n) - 1U);
        return;
    } else if constexpr (sizeof(T) == 8) {
        const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << (2 * n)) - 1U);
        store_words(to, bits_as<i32>(a.v[0]), mask & 0xFFFFU);
        store_words(to + 8, bits_as<i32>(a.v[1]), mask >> 16);
        return;
    }
#elif TENON_SIMD_LEVEL == 1
    if constexpr (sizeof(T) == 4) {
        store_words(to, bits_as<i32>(a.v[0]), i32{0, 1, 2, 3, 4, 5, 6, 7} < n);
        return;
    } else if constexpr (sizeof(T) == 8) {
        store_words(to, bits_as<i32>(a.v[0]), i32{0, 0, 1, 1, 2, 2, 3, 3} < n);
        store_words(to + 4, bits_as<i32>(a.v[1]), i32{4, 4, 5, 5, 6, 6, 7, 7} < n);
        return;
    }
#endif
    T buffer[lanes];
    store(static_cast<T*>(buffer), a);
    for (int i = 0; i < n; ++i) to[i] = buffer[i];
}

/// 0, 1, 2, ... in the lanes.
template <class T> TENON_SIMD_INLINE pack<T> iota() {
    constexpr T numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return load(static_cast<const T*>(numbers));
}

/// Element i of a pack, for what must be done one by one.
template <class T> TENON_SIMD_INLINE T extract(pack<T> a, int i) {
    T buffer[lanes];
    store(static_cast<T*>(buffer), a);
    return buffer[i];
}

} // namespace tenon::simd::TENON_SIMD_NS
