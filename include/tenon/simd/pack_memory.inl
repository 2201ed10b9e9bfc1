// Loads and stores: any alignment.

namespace tenon::simd::TENON_SIMD_NS {

/// One pack of T as it lies in memory, for elements of at most 4 bytes, and back.
template <class T> using stored_t = native_t<simd::detail::stored_type<T>, lanes>;
template <class T> TENON_SIMD_INLINE pack<compute_t<T>> decode(stored_t<T> a) {
    if constexpr (std::is_same_v<T, half>) return {{widen_half(a)}};
    else if constexpr (std::is_same_v<T, bfloat16>) return {{widen_bfloat16(a)}};
    else if constexpr (std::is_same_v<T, bool>) return mask_from(a != 0);
    else return {{a}};
}
template <class T> TENON_SIMD_INLINE stored_t<T> encode(pack<compute_t<T>> a) {
    if constexpr (std::is_same_v<T, half>) return narrow_half(a.v[0]);
    else if constexpr (std::is_same_v<T, bfloat16>) return narrow_bfloat16(a.v[0]);
    else if constexpr (std::is_same_v<T, bool>) return __builtin_convertvector(a.v[0] & 1, stored_t<T>);
    else return a.v[0];
}

template <class T> TENON_SIMD_INLINE pack<compute_t<T>> load(const T* from) {
    if constexpr (sizeof(T) <= 4) {
        using unaligned = typename native<simd::detail::stored_type<T>, lanes>::unaligned;
        return decode<T>(*reinterpret_cast<const unaligned*>(from));
    } else {
        using unaligned = typename native<T, pack<T>::part_lanes>::unaligned;
        TENON_SIMD_PARTS(pack<T>, *reinterpret_cast<const unaligned*>(from + p * pack<T>::part_lanes));
    }
}

template <class T> TENON_SIMD_INLINE void store(T* to, pack<compute_t<T>> a) {
    if constexpr (sizeof(T) <= 4) {
        *reinterpret_cast<typename native<simd::detail::stored_type<T>, lanes>::unaligned*>(to) = encode<T>(a);
    } else {
        using unaligned = typename native<T, pack<T>::part_lanes>::unaligned;
        *reinterpret_cast<unaligned*>(to) = a.v[0];
        *reinterpret_cast<unaligned*>(to + pack<T>::part_lanes) = a.v[1];
    }
}

// Moves under a mask: of all elements on avx512, of 4 and 8-byte ones on avx2.
#if TENON_SIMD_LEVEL == 2
inline constexpr std::size_t smallest_masked = 1;
using words512 = native_t<int, 16>;
using shorts256 = native_t<short, 16>;
using bytes128 = native_t<char, 16>;
#if defined(__clang__) // what the builtins point to
using masked_short = shorts256;
using masked_byte = bytes128;
#else
using masked_short = short;
using masked_byte = char;
#endif
using masked_words = words512;
/// What the mask leaves out is `other`'s.
template <std::size_t Size, class V> TENON_SIMD_INLINE auto load_masked(const void* from, unsigned mask, V other) {
    const auto bits = static_cast<unsigned short>(mask);
    if constexpr (Size == 4)
        return __builtin_ia32_loaddqusi512_mask(static_cast<const int*>(from), bits_as<words512>(other), bits);
    else if constexpr (Size == 2)
        return __builtin_ia32_loaddquhi256_mask(static_cast<const masked_short*>(from), bits_as<shorts256>(other),
                                                bits);
    else return __builtin_ia32_loaddquqi128_mask(static_cast<const masked_byte*>(from), bits_as<bytes128>(other), bits);
}
template <std::size_t Size, class V> TENON_SIMD_INLINE void store_masked(void* to, V a, unsigned mask) {
    const auto bits = static_cast<unsigned short>(mask);
    if constexpr (Size == 4) __builtin_ia32_storedqusi512_mask(static_cast<int*>(to), bits_as<words512>(a), bits);
    else if constexpr (Size == 2)
        __builtin_ia32_storedquhi256_mask(static_cast<masked_short*>(to), bits_as<shorts256>(a), bits);
    else __builtin_ia32_storedquqi128_mask(static_cast<masked_byte*>(to), bits_as<bytes128>(a), bits);
}
/// The mask of the first n elements, and of part p of a pack of 8-byte elements, each of which is two words.
TENON_SIMD_INLINE unsigned first_lanes(int n) { return (1U << n) - 1U; }
TENON_SIMD_INLINE unsigned first_words(int n, int p) {
    return static_cast<unsigned>(((std::uint64_t{1} << (2 * n)) - 1U) >> (16 * p)) & 0xFFFFU;
}
#elif TENON_SIMD_LEVEL == 1
inline constexpr std::size_t smallest_masked = 4;
using masked_words = i32;
template <std::size_t, class V> TENON_SIMD_INLINE i32 load_masked(const void* from, i32 mask, V other) {
    return __builtin_ia32_maskloadd256(static_cast<const i32*>(from), mask) | (bits_as<i32>(other) & ~mask);
}
template <std::size_t, class V> TENON_SIMD_INLINE void store_masked(void* to, V a, i32 mask) {
    __builtin_ia32_maskstored256(static_cast<i32*>(to), mask, bits_as<i32>(a));
}
TENON_SIMD_INLINE i32 first_lanes(int n) { return i32{0, 1, 2, 3, 4, 5, 6, 7} < n; }
TENON_SIMD_INLINE i32 first_words(int n, int p) { return i32{0, 0, 1, 1, 2, 2, 3, 3} + 4 * p < n; }
#endif

/// The first n elements (0 <= n <= lanes); the other lanes are zero. Reads nothing beyond them.
template <class T> TENON_SIMD_INLINE pack<compute_t<T>> load_partial(const T* from, int n) {
#if TENON_SIMD_LEVEL > 0
    if constexpr (sizeof(T) == 8) {
        using part = typename pack<T>::part;
        constexpr int step = pack<T>::part_lanes;
        TENON_SIMD_PARTS(pack<T>, bits_as<part>(load_masked<4>(from + p * step, first_words(n, p), part{})));
    } else if constexpr (sizeof(T) >= smallest_masked) {
        return decode<T>(bits_as<stored_t<T>>(load_masked<sizeof(T)>(from, first_lanes(n), stored_t<T>{})));
    } else
#endif
    {
        T buffer[lanes] = {};
        __builtin_memcpy(buffer, from, static_cast<std::size_t>(n) * sizeof(T));
        return load(static_cast<const T*>(buffer));
    }
}

/// The first n elements (0 < n <= lanes); the other lanes are the first element again, so that what is computed in them is
/// what is computed anyway: no denormal number, no division by zero that the elements do not bring themselves. Reads nothing
/// beyond them.
template <class T> TENON_SIMD_INLINE pack<compute_t<T>> load_tail(const T* from, int n) {
    using S = simd::detail::stored_type<T>;
    S first;
    __builtin_memcpy(&first, from, sizeof first);
#if TENON_SIMD_LEVEL > 0
    if constexpr (sizeof(T) == 8) {
        using part = typename pack<T>::part;
        constexpr int step = pack<T>::part_lanes;
        TENON_SIMD_PARTS(pack<T>, bits_as<part>(load_masked<4>(from + p * step, first_words(n, p),
                                                               bits_as<masked_words>(first - native_t<S, step>{}))));
    } else if constexpr (sizeof(T) >= smallest_masked) {
        const auto other = first - stored_t<T>{};
        return decode<T>(bits_as<stored_t<T>>(load_masked<sizeof(T)>(from, first_lanes(n), other)));
    } else
#endif
    {
        alignas(64) S buffer[lanes];
        for (int i = 0; i < lanes; ++i) buffer[i] = first;
        __builtin_memcpy(buffer, from, static_cast<std::size_t>(n) * sizeof(T));
        return load(reinterpret_cast<const T*>(buffer));
    }
}

/// Stores the first n lanes (0 <= n <= lanes); writes nothing beyond them.
template <class T> TENON_SIMD_INLINE void store_partial(T* to, pack<compute_t<T>> a, int n) {
#if TENON_SIMD_LEVEL > 0
    if constexpr (sizeof(T) == 8) {
        store_masked<4>(to, a.v[0], first_words(n, 0));
        store_masked<4>(to + pack<T>::part_lanes, a.v[1], first_words(n, 1));
    } else if constexpr (sizeof(T) >= smallest_masked) {
        store_masked<sizeof(T)>(to, encode<T>(a), first_lanes(n));
    } else
#endif
    {
        T buffer[lanes];
        store(static_cast<T*>(buffer), a);
        __builtin_memcpy(to, buffer, static_cast<std::size_t>(n) * sizeof(T));
    }
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
