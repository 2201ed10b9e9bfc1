// Lines stored past the caches: read once per instruction set by streamed.hpp.

namespace tenon::simd::TENON_SIMD_NS {

TENON_SIMD_INLINE void store_past_caches(f32* to, f32 a) {
#if defined(__clang__)
    __builtin_nontemporal_store(a, to);
#elif TENON_SIMD_LEVEL == 2
    __builtin_ia32_movntps512(reinterpret_cast<float*>(to), a);
#elif TENON_SIMD_LEVEL == 1
    __builtin_ia32_movntps256(reinterpret_cast<float*>(to), a);
#elif defined(__x86_64__)
    __builtin_ia32_movntps(reinterpret_cast<float*>(to), a);
#else
    *to = a;
#endif
}

template <class T> TENON_SIMD_INLINE void store_past_caches(T* to, pack<T> a) {
    for (int p = 0; p < pack<T>::parts; ++p)
        store_past_caches(reinterpret_cast<f32*>(to + p * pack<T>::part_lanes), bits_as<f32>(a.v[p]));
}

/// `lines` times 64 bytes; `to` is the beginning of a line.
inline void stream_lines(std::byte* to, const std::byte* from, std::size_t lines) {
    for (std::size_t i = 0; i < lines * 64; i += sizeof(f32))
        store_past_caches(reinterpret_cast<f32*>(to + i), load(reinterpret_cast<const float*>(from + i)).v[0]);
}

/// Writes as many lines as `Packs` packs of T fill, at least one, unless fewer wait.
template <int Packs, class T> TENON_SIMD_INLINE void write_packs(tenon::detail::waiting_lines& w) {
    constexpr int bytes = Packs * lanes * static_cast<int>(sizeof(T)), whole = bytes < 64 ? 64 : bytes;
    if (w.lines < whole / 64) return;
    std::byte* const to = w.to;
    const std::byte* const from = w.from;
#pragma GCC unroll 16
    for (int i = 0; i < whole; i += static_cast<int>(sizeof(f32)))
        store_past_caches(reinterpret_cast<f32*>(to + i), load(reinterpret_cast<const float*>(from + i)).v[0]);
    w.to = to + whole;
    w.from = from + whole;
    w.lines -= whole / 64;
}

} // namespace tenon::simd::TENON_SIMD_NS
