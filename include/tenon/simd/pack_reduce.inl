// Across the lanes of one pack. The order of the operations is fixed: halves are combined, lane k with lane k
// + half.

namespace tenon::simd::TENON_SIMD_NS {

struct combine_add {
    template <class T> TENON_SIMD_INLINE static pack<T> apply(pack<T> a, pack<T> b) { return a + b; }
};
struct combine_mul {
    template <class T> TENON_SIMD_INLINE static pack<T> apply(pack<T> a, pack<T> b) { return a * b; }
};
struct combine_max {
    template <class T> TENON_SIMD_INLINE static pack<T> apply(pack<T> a, pack<T> b) { return max(a, b); }
};
struct combine_min {
    template <class T> TENON_SIMD_INLINE static pack<T> apply(pack<T> a, pack<T> b) { return min(a, b); }
};

/// Lane k holds what was in lane (k + Distance) modulo the number of lanes.
template <int Distance, class V> TENON_SIMD_INLINE V rotate_lanes(V a) {
    constexpr int n = sizeof(a) / sizeof(a[0]);
    constexpr int d = Distance;
    if constexpr (n == 16)
        return __builtin_shufflevector(a, a, d, d + 1, d + 2, d + 3, d + 4, d + 5, d + 6, d + 7, d + 8, d + 9, d + 10,
                                       d + 11, d + 12, d + 13, d + 14, d + 15);
    else if constexpr (n == 8) return __builtin_shufflevector(a, a, d, d + 1, d + 2, d + 3, d + 4, d + 5, d + 6, d + 7);
    else if constexpr (n == 4) return __builtin_shufflevector(a, a, d, d + 1, d + 2, d + 3);
    else return __builtin_shufflevector(a, a, d, d + 1);
}

template <class Combine, int Distance, class T> TENON_SIMD_INLINE pack<T> fold(pack<T> a) {
    if constexpr (Distance == 0) {
        return a;
    } else if constexpr (Distance == pack<T>::part_lanes) {
        return fold<Combine, Distance / 2>(Combine::apply(a, pack<T>{{a.v[pack<T>::parts - 1], a.v[0]}}));
    } else if constexpr (pack<T>::parts == 2) {
        return fold<Combine, Distance / 2>(Combine::apply(a, pack<T>{{rotate_lanes<Distance>(a.v[0]), a.v[1]}}));
    } else {
        return fold<Combine, Distance / 2>(Combine::apply(a, pack<T>{{rotate_lanes<Distance>(a.v[0])}}));
    }
}

/// Sum, product, largest, smallest of the lanes. Integers wrap; one NaN makes the result NaN. Of bools, min
/// is "all" and max is "any".
template <class T> TENON_SIMD_INLINE T reduce_add(pack<T> a) { return fold<combine_add, lanes / 2>(a).v[0][0]; }
template <class T> TENON_SIMD_INLINE T reduce_mul(pack<T> a) { return fold<combine_mul, lanes / 2>(a).v[0][0]; }
template <class T> TENON_SIMD_INLINE T reduce_max(pack<T> a) { return fold<combine_max, lanes / 2>(a).v[0][0]; }
template <class T> TENON_SIMD_INLINE T reduce_min(pack<T> a) { return fold<combine_min, lanes / 2>(a).v[0][0]; }
template <> TENON_SIMD_INLINE bool reduce_max(pack<bool> a) { return any(a); }
template <> TENON_SIMD_INLINE bool reduce_min(pack<bool> a) { return all(a); }

} // namespace tenon::simd::TENON_SIMD_NS
