// Lines stored past the caches: read once per instruction set by streamed.ipp.

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

/// `lines` times 64 bytes; `to` is the beginning of a line.
inline void stream_lines(std::byte* to, const std::byte* from, std::size_t lines) {
    for (std::size_t i = 0; i < lines * 64; i += sizeof(f32))
        store_past_caches(reinterpret_cast<f32*>(to + i), load(reinterpret_cast<const float*>(from + i)).v[0]);
}

} // namespace tenon::simd::TENON_SIMD_NS
