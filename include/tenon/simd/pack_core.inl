// Packs, native vectors, masks: what the other .inl files are written with.

namespace tenon::simd::TENON_SIMD_NS {

/// Elements in every pack, whatever their type, so that kernels of mixed types step together.
inline constexpr int lanes = TENON_SIMD_WIDTH / 4;
inline constexpr isa this_isa = isa::TENON_SIMD_NS;

/// A compiler vector of N elements.
template <class T, int N> struct native {
    typedef T type __attribute__((vector_size(sizeof(T) * N)));
    typedef T unaligned __attribute__((vector_size(sizeof(T) * N), aligned(1), may_alias));
};
template <class T, int N> using native_t = typename native<T, N>::type;

/// `lanes` elements of type T: one compiler vector, or two for 8-byte elements. pack<bool> is a mask. A plain
/// aggregate: every operation is a free function.
template <class T> struct pack {
    static_assert(std::is_arithmetic_v<T>, "half and bfloat16 are loaded as pack<float>");
    using element = T;
    using lane = typename simd::detail::lane_type<T>::type;
    static constexpr int parts = sizeof(lane) == 8 ? 2 : 1;
    static constexpr int part_lanes = lanes / parts;
    using part = native_t<lane, part_lanes>;
    using signed_part = native_t<simd::detail::signed_t<lane>, part_lanes>;
    part v[parts];
};

// The compiler vectors that mathematics is written in: every one has the full width of a register. A
// pack<float> is one f32, a pack<double> two f64.
using f32 = pack<float>::part;
using f64 = pack<double>::part;
using i32 = pack<std::int32_t>::part;
using i64 = pack<std::int64_t>::part;
using u32 = pack<std::uint32_t>::part;
using u64 = pack<std::uint64_t>::part;

/// The same bits as another type of vector.
template <class To, class From> TENON_SIMD_INLINE To bits_as(From a) {
    static_assert(sizeof(To) == sizeof(From));
    return (To)a;
}

/// Each lane a or b: m is all ones or all zeros in each lane.
template <class Mask, class V> TENON_SIMD_INLINE V choose(Mask m, V a, V b) { return m ? a : b; }

/// The value in every lane. (x - 0 is x, also for -0.)
template <class V, class S> TENON_SIMD_INLINE V fill(S value) {
    return static_cast<std::remove_cvref_t<decltype(V{}[0])>>(value) - V{};
}

// TENON_SIMD_PARTS(R, expression): the pack of type R whose part p is `expression`.
#define TENON_SIMD_PARTS(R, ...)        \
    R result;                           \
    {                                   \
        constexpr int p = 0;            \
        result.v[p] = __VA_ARGS__;      \
    }                                   \
    if constexpr (R::parts == 2) {      \
        constexpr int p = R::parts - 1; \
        result.v[p] = __VA_ARGS__;      \
    }                                   \
    return result

template <class T> TENON_SIMD_INLINE pack<T> broadcast(std::type_identity_t<T> value) {
    using lane = typename pack<T>::lane;
    lane x;
    if constexpr (std::is_same_v<T, bool>) x = value ? -1 : 0;
    else x = value;
    TENON_SIMD_PARTS(pack<T>, x - typename pack<T>::part{});
}

// Halves of a vector, and two halves joined.
template <class T, class V, int N = static_cast<int>(sizeof(V) / sizeof(T))>
TENON_SIMD_INLINE native_t<T, N / 2> lower_half(V a) {
    if constexpr (N == 16) return __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7);
    else if constexpr (N == 8) return __builtin_shufflevector(a, a, 0, 1, 2, 3);
    else return __builtin_shufflevector(a, a, 0, 1);
}
template <class T, class V, int N = static_cast<int>(sizeof(V) / sizeof(T))>
TENON_SIMD_INLINE native_t<T, N / 2> upper_half(V a) {
    if constexpr (N == 16) return __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15);
    else if constexpr (N == 8) return __builtin_shufflevector(a, a, 4, 5, 6, 7);
    else return __builtin_shufflevector(a, a, 2, 3);
}
template <class T, class V, int N = static_cast<int>(sizeof(V) / sizeof(T))>
TENON_SIMD_INLINE native_t<T, N * 2> join_halves(V a, V b) {
    if constexpr (N == 8) return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    else if constexpr (N == 4) return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
    else return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}

/// A mask whose lanes have the width of T, for `choose` on the parts of a pack<T>.
template <class T> struct wide_mask { typename pack<T>::signed_part v[pack<T>::parts]; };
template <class T> TENON_SIMD_INLINE wide_mask<T> widen_mask(pack<bool> m) {
    using part = typename pack<T>::signed_part;
    if constexpr (pack<T>::parts == 2)
        return {{__builtin_convertvector(lower_half<std::int32_t>(m.v[0]), part),
                 __builtin_convertvector(upper_half<std::int32_t>(m.v[0]), part)}};
    else if constexpr (std::is_same_v<part, i32>) return {{m.v[0]}};
    else return {{__builtin_convertvector(m.v[0], part)}};
}
/// The pack<bool> of compared parts.
template <class V> TENON_SIMD_INLINE pack<bool> mask_from(V m) { return {{__builtin_convertvector(m, i32)}}; }
template <class V> TENON_SIMD_INLINE pack<bool> mask_from(V lower, V upper) {
    using half_part = native_t<std::int32_t, lanes / 2>;
    return {{join_halves<std::int32_t>(__builtin_convertvector(lower, half_part),
                                       __builtin_convertvector(upper, half_part))}};
}

} // namespace tenon::simd::TENON_SIMD_NS
