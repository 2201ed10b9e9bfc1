// Transposing a matrix, once per instruction set.

namespace tenon::simd::TENON_SIMD_NS {

/// A block of as many rows as a vector has lanes, transposed in registers: at each level, neighbours at
/// distance D exchange halves.
template <int D, class V, std::size_t... K> TENON_SIMD_INLINE void exchange(V& a, V& b, std::index_sequence<K...>) {
    constexpr int n = static_cast<int>(sizeof...(K));
#if defined(__clang__)
    const V x = __builtin_shufflevector(
        a, b, (static_cast<int>(K) & D ? n + (static_cast<int>(K) ^ D) : static_cast<int>(K))...);
    const V y =
        __builtin_shufflevector(a, b, (static_cast<int>(K) & D ? n + static_cast<int>(K) : static_cast<int>(K) ^ D)...);
#else
    using index = simd::detail::signed_t<std::remove_cvref_t<decltype(a[0])>>;
    typedef index indices __attribute__((vector_size(sizeof(V))));
    const V x = __builtin_shuffle(
        a, b,
        indices{static_cast<index>(static_cast<int>(K) & D ? n + (static_cast<int>(K) ^ D) : static_cast<int>(K))...});
    const V y = __builtin_shuffle(
        a, b,
        indices{static_cast<index>(static_cast<int>(K) & D ? n + static_cast<int>(K) : static_cast<int>(K) ^ D)...});
#endif
    a = x;
    b = y;
}
template <int N, int D, class V> TENON_SIMD_INLINE void exchange_all(V* rows) {
    if constexpr (D > 0) {
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i)
            if ((i & D) == 0)
                exchange<D>(rows[i], rows[i + D], std::make_index_sequence<static_cast<std::size_t>(N)>{});
        exchange_all<N, D / 2>(rows);
    }
}

/// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns.
template <class T>
void transpose(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t columns) {
    constexpr int n =
        TENON_SIMD_WIDTH / static_cast<int>(sizeof(T)) < 16 ? TENON_SIMD_WIDTH / static_cast<int>(sizeof(T)) : 16;
    using memory = typename native<T, n>::unaligned;
    using vector = typename native<T, n>::type;
    constexpr std::int64_t tile = 512 / static_cast<std::int64_t>(sizeof(T)); // one fits in the second-level cache
    for (std::int64_t j0 = 0; j0 < columns; j0 += tile) {
        const std::int64_t j1 = columns - j0 < tile ? columns : j0 + tile;
        for (std::int64_t i0 = 0; i0 < rows; i0 += tile) {
            const std::int64_t i1 = rows - i0 < tile ? rows : i0 + tile;
            std::int64_t i = i0;
            for (; i + n <= i1; i += n) {
                std::int64_t j = j0;
                for (; j + n <= j1; j += n) {
                    vector v[n];
#pragma GCC unroll 16
                    for (int k = 0; k < n; ++k)
                        v[k] = *reinterpret_cast<const memory*>(from + (i + k) * from_stride + j);
                    exchange_all<n, n / 2>(v);
#pragma GCC unroll 16
                    for (int k = 0; k < n; ++k) *reinterpret_cast<memory*>(to + (j + k) * to_stride + i) = v[k];
                }
                for (; j < j1; ++j)
                    for (int k = 0; k < n; ++k) to[j * to_stride + i + k] = from[(i + k) * from_stride + j];
            }
            for (; i < i1; ++i)
                for (std::int64_t j = j0; j < j1; ++j) to[j * to_stride + i] = from[i * from_stride + j];
        }
    }
}

} // namespace tenon::simd::TENON_SIMD_NS
