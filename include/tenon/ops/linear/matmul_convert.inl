// Elements to floats and back, once per instruction set.

namespace tenon::simd::TENON_SIMD_NS {

template <class From, class To> void convert_all(const From* from, To* to, std::int64_t n) {
    const auto converted = [](auto x) { return convert<compute_t<To>>(x); };
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(to + i, converted(load(from + i)));
    if (i < n)
        store_partial(to + i, converted(load_partial(from + i, static_cast<int>(n - i))), static_cast<int>(n - i));
}

// Whole numbers, wrapping around.
inline void add_all(const float* from, std::int32_t* signed_to, std::int64_t n) {
    auto* const to = reinterpret_cast<std::uint32_t*>(signed_to);
    const auto whole = [](pack<float> x) { return convert<std::uint32_t>(convert<std::int32_t>(x)); };
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(to + i, load(to + i) + whole(load(from + i)));
    if (i < n) {
        const int rest = static_cast<int>(n - i);
        store_partial(to + i, load_partial(to + i, rest) + whole(load_partial(from + i, rest)), rest);
    }
}

} // namespace tenon::simd::TENON_SIMD_NS
