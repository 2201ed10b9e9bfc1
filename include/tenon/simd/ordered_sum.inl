// Sums in one order: read once per instruction set by ordered_sum.ipp.

namespace tenon::simd::TENON_SIMD_NS {

template <class T, bool Scaled>
inline void add_in_order(const T* const* from, const double* factors, int count, T* to, std::int64_t n) {
    using C = compute_t<T>;
    const auto term = [&](int k, pack<C> x) {
        if constexpr (Scaled) return x * broadcast<C>(static_cast<C>(factors[k]));
        else return x;
    };
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        pack<C> sum = term(0, load(from[0] + i));
        for (int k = 1; k < count; ++k) sum = sum + term(k, load(from[k] + i));
        store(to + i, sum);
    }
    if (i == n) return;
    const int rest = static_cast<int>(n - i);
    pack<C> sum = term(0, load_partial(from[0] + i, rest));
    for (int k = 1; k < count; ++k) sum = sum + term(k, load_partial(from[k] + i, rest));
    store_partial(to + i, sum, rest);
}

} // namespace tenon::simd::TENON_SIMD_NS
