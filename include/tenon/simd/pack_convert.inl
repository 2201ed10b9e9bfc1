// Conversions between element types.

namespace tenon::simd::TENON_SIMD_NS {

template <class To, class V> TENON_SIMD_INLINE pack<To> split_convert(V a) {
    using part = typename pack<To>::part;
    using from = std::remove_cvref_t<decltype(a[0])>;
    return {{__builtin_convertvector(lower_half<from>(a), part), __builtin_convertvector(upper_half<from>(a), part)}};
}
template <class To, class V> TENON_SIMD_INLINE pack<To> join_convert(V lower, V upper) {
    using half_part = native_t<To, lanes / 2>;
    return {{join_halves<To>(__builtin_convertvector(lower, half_part), __builtin_convertvector(upper, half_part))}};
}

/// Floating to integer: what does not fit saturates, NaN gives 0, the fraction is dropped.
template <class To, class From> TENON_SIMD_INLINE pack<To> convert_to_integer(pack<From> a);

/// Each element as static_cast<To> gives it, with two differences where that is undefined: a floating number
/// beyond an integer type gives its nearest limit, and NaN gives 0.
template <class To, class From> TENON_SIMD_INLINE pack<To> convert(pack<From> a) {
    if constexpr (std::is_same_v<To, From>) {
        return a;
    } else if constexpr (std::is_same_v<To, bool>) {
        if constexpr (pack<From>::parts == 2) return mask_from(a.v[0] != 0, a.v[1] != 0);
        else return mask_from(a.v[0] != 0);
    } else if constexpr (std::is_same_v<From, bool>) {
        return convert<To>(pack<std::int32_t>{{a.v[0] & 1}});
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        return convert_to_integer<To>(a);
    } else if constexpr (pack<To>::parts == pack<From>::parts) {
        TENON_SIMD_PARTS(pack<To>, __builtin_convertvector(a.v[p], typename pack<To>::part));
    } else if constexpr (pack<To>::parts == 2) {
        if constexpr (sizeof(From) == 4) return split_convert<To>(a.v[0]);
        else // by way of 32 bits
            return convert<To>(convert<std::int32_t>(a));
    } else {
        if constexpr (sizeof(To) == 4) return join_convert<To>(a.v[0], a.v[1]);
        else return convert<To>(convert<std::int32_t>(a));
    }
}

/// Vector V of floating numbers as integers To of at least their size.
template <class To, class V> TENON_SIMD_INLINE auto truncate_saturated(V a) {
    using from = std::remove_cvref_t<decltype(a[0])>;
    constexpr int n = sizeof(V) / sizeof(from);
    using to_part = native_t<To, n>;
    using to_mask = native_t<simd::detail::signed_t<To>, n>;
    constexpr from end = static_cast<from>(To{1} << (std::numeric_limits<To>::digits - 1)) * 2; // max() + 1
    constexpr from low = std::is_signed_v<To> ? -end : from(0);
    const V x = choose(a == a, a, V{});
    const auto too_large = x >= end;
    const V inside = choose(too_large, V{}, choose(x > low, x, fill<V>(low)));
    return choose(__builtin_convertvector(too_large, to_mask), fill<to_part>(std::numeric_limits<To>::max()),
                  __builtin_convertvector(inside, to_part));
}

template <class V, class S> TENON_SIMD_INLINE V clamp_or_zero(V a, S low, S high) {
    const V x = choose(a == a, a, V{});
    const V above = choose(x > low, x, fill<V>(low));
    return choose(above < high, above, fill<V>(high));
}

template <class To, class From> TENON_SIMD_INLINE pack<To> convert_to_integer(pack<From> a) {
    if constexpr (sizeof(To) < 4) {
        constexpr auto low = static_cast<From>(std::numeric_limits<To>::min());
        constexpr auto high = static_cast<From>(std::numeric_limits<To>::max());
        if constexpr (pack<From>::parts == 1)
            return convert<To>(convert_to_integer<std::int32_t>(pack<From>{{clamp_or_zero(a.v[0], low, high)}}));
        else
            return convert<To>(convert_to_integer<std::int32_t>(
                pack<From>{{clamp_or_zero(a.v[0], low, high), clamp_or_zero(a.v[1], low, high)}}));
    } else if constexpr (sizeof(To) == 8 && sizeof(From) == 4) {
        return convert_to_integer<To>(convert<double>(a));
    } else if constexpr (sizeof(To) == 4 && sizeof(From) == 8) {
        return {{join_halves<To>(truncate_saturated<To>(a.v[0]), truncate_saturated<To>(a.v[1]))}};
    } else {
        TENON_SIMD_PARTS(pack<To>, truncate_saturated<To>(a.v[p]));
    }
}

/// The values of `a` rounded to the nearest half or bfloat16 (ties to even), or unchanged for other types:
/// what a store to T followed by a load gives.
template <class T> TENON_SIMD_INLINE pack<float> round_to(pack<float> a);

// half and bfloat16 in memory, as 16-bit integers.
using u16_part = pack<std::uint16_t>::part;

TENON_SIMD_INLINE f32 widen_bfloat16(u16_part a) { return bits_as<f32>(__builtin_convertvector(a, u32) << 16); }
TENON_SIMD_INLINE u16_part narrow_bfloat16(f32 a) {
    const u32 b = bits_as<u32>(a);
    const u32 rounded = (b + 0x7FFFU + ((b >> 16) & 1U)) >> 16;
    const u32 quiet = (b >> 16) | 0x40U;
    return __builtin_convertvector(choose(a == a, rounded, quiet), u16_part);
}

#if TENON_SIMD_LEVEL == 2
typedef short f16_words __attribute__((vector_size(32)));
TENON_SIMD_INLINE f32 widen_half(u16_part a) {
    return __builtin_ia32_vcvtph2ps512_mask(bits_as<f16_words>(a), f32{}, static_cast<unsigned short>(-1), 4);
}
TENON_SIMD_INLINE u16_part narrow_half(f32 a) {
    return bits_as<u16_part>(__builtin_ia32_vcvtps2ph512_mask(a, 8, f16_words{}, static_cast<unsigned short>(-1)));
}
#elif TENON_SIMD_LEVEL == 1
typedef short f16_words __attribute__((vector_size(16)));
#if defined(__clang__) && !__has_builtin(__builtin_ia32_vcvtph2ps256) // version 22 has a generic one instead
typedef _Float16 f16_part __attribute__((vector_size(16)));
TENON_SIMD_INLINE f32 widen_half(u16_part a) { return __builtin_convertvector(bits_as<f16_part>(a), f32); }
#else
TENON_SIMD_INLINE f32 widen_half(u16_part a) { return __builtin_ia32_vcvtph2ps256(bits_as<f16_words>(a)); }
#endif
TENON_SIMD_INLINE u16_part narrow_half(f32 a) { return bits_as<u16_part>(__builtin_ia32_vcvtps2ph256(a, 0)); }
#else
TENON_SIMD_INLINE f32 widen_half(u16_part a) {
    const u32 b = __builtin_convertvector(a, u32);
    const u32 magnitude = (b & 0x7FFFU) << 13;
    // Read with half's exponent in float's place the value is 2^-112 of what it should be, denormals
    // included.
    const u32 scaled = bits_as<u32>(bits_as<f32>(magnitude) * 0x1p112F);
    const u32 special = magnitude | 0x7F800000U | ((magnitude & 0x7FFFFFU) != 0U ? u32{} + 0x400000U : u32{});
    return bits_as<f32>(choose(magnitude >= 0xF800000U, special, scaled) | ((b & 0x8000U) << 16));
}
TENON_SIMD_INLINE u16_part narrow_half(f32 a) {
    const u32 b = bits_as<u32>(a);
    const u32 magnitude = b & 0x7FFFFFFFU;
    const u32 normal = (magnitude - 0x38000000U + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
    // Adding 1/2 lines the last bit of a denormal half up with the last bit of the float, rounded by the
    // addition.
    const u32 denormal = bits_as<u32>(bits_as<f32>(magnitude) + 0.5F) - 0x3F000000U;
    const u32 nan = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
    u32 r = choose(magnitude < 0x38800000U, denormal, normal);
    r = choose(magnitude >= 0x477FF000U, fill<u32>(0x7C00U), r);
    r = choose(magnitude > 0x7F800000U, nan, r);
    return __builtin_convertvector(r | ((b >> 16) & 0x8000U), u16_part);
}
#endif

template <class T> TENON_SIMD_INLINE pack<float> round_to(pack<float> a) {
    if constexpr (std::is_same_v<T, half>) return {{widen_half(narrow_half(a.v[0]))}};
    else if constexpr (std::is_same_v<T, bfloat16>) return {{widen_bfloat16(narrow_bfloat16(a.v[0]))}};
    else return a;
}

} // namespace tenon::simd::TENON_SIMD_NS
