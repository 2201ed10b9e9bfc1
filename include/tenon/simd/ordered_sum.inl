// Sums in one order: read once per instruction set by ordered_sum.ipp.

namespace tenon::simd::TENON_SIMD_NS {

// Several packs wide, so that additions wait for each other as little as for memory, of which a line is asked for beside each that is read.
// Of long arrays the machine expects the rest by itself.
template <class T>
inline void add_and_fetch(const T* const* from, const T* const* next, int count, T* to, std::int64_t n) {
    constexpr std::int64_t line = 64 / sizeof(T), wide = 4, few = 16 * line;
    std::int64_t i = 0;
    for (; i + wide * lanes <= n; i += wide * lanes) {
        const std::int64_t fetched = i < few ? i + wide * lanes : i;
        pack<T> a = load(from[0] + i), b = load(from[0] + i + lanes), c = load(from[0] + i + 2 * lanes),
                d = load(from[0] + i + 3 * lanes);
        for (int k = 1; k < count; ++k) {
            const T* const x = from[k] + i;
            a = a + load(x);
            b = b + load(x + lanes);
            c = c + load(x + 2 * lanes);
            d = d + load(x + 3 * lanes);
            for (std::int64_t l = i; l < fetched; l += line) __builtin_prefetch(next[k] + l);
        }
        for (std::int64_t l = i; l < fetched; l += line) __builtin_prefetch(next[0] + l);
        store(to + i, a);
        store(to + i + lanes, b);
        store(to + i + 2 * lanes, c);
        store(to + i + 3 * lanes, d);
    }
    for (; i + lanes <= n; i += lanes) {
        pack<T> sum = load(from[0] + i);
        for (int k = 1; k < count; ++k) sum = sum + load(from[k] + i);
        for (int k = 0; k < count && i < few; ++k) __builtin_prefetch(next[k] + i);
        store(to + i, sum);
    }
    if (i == n) return;
    const int rest = static_cast<int>(n - i);
    pack<T> sum = load_partial(from[0] + i, rest);
    if (i < few) __builtin_prefetch(next[0] + i);
    for (int k = 1; k < count; ++k) {
        if (i < few) __builtin_prefetch(next[k] + i);
        sum = sum + load_partial(from[k] + i, rest);
    }
    store_partial(to + i, sum, rest);
}

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
