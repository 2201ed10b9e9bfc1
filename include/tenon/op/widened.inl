// Elements of one floating type as another: read once per instruction set by widened.ipp.

namespace tenon::simd::TENON_SIMD_NS {

template <class From, class To> inline void convert_elements(const From* from, To* to, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(to + i, load(from + i));
    if (i < n) store_partial(to + i, load_partial(from + i, static_cast<int>(n - i)), static_cast<int>(n - i));
}

} // namespace tenon::simd::TENON_SIMD_NS
