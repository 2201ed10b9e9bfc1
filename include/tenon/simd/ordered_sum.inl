// Sums in one order: read once per instruction set by ordered_sum.ipp.

namespace tenon::simd::TENON_SIMD_NS {

// Several packs wide, so that additions wait for each other as little as for memory: beside each line that is read another is asked for. Of long
// rows the machine expects the rest by itself.
template <class T, class I>
inline void add_rows(const T* x, const I* indices, std::int64_t count, std::int64_t ahead, bool onto, std::int64_t n,
                     T* to) {
    constexpr std::int64_t line = 64 / sizeof(T), wide = 4 * lanes, few = 16 * line;
    const auto row = [&](std::int64_t k) { return x + static_cast<std::int64_t>(indices[k]) * n; };
    const std::int64_t begin = onto ? 0 : 1;
    std::int64_t i = 0;
    for (; i + wide <= n; i += wide) {
        const T* const first = (onto ? to : row(0)) + i;
        pack<T> a = load(first), b = load(first + lanes), c = load(first + 2 * lanes), d = load(first + 3 * lanes);
        const bool fetches = ahead > 0 && i < few;
        for (std::int64_t k = begin; k < count; ++k) {
            const T* const from = row(k) + i;
            if (fetches) {
                const T* const next = row(k + ahead) + i;
                __builtin_prefetch(next);
                __builtin_prefetch(next + wide / 4);
                __builtin_prefetch(next + wide / 2);
                __builtin_prefetch(next + wide * 3 / 4);
                if constexpr (line < lanes) {
                    __builtin_prefetch(next + line);
                    __builtin_prefetch(next + wide / 4 + line);
                    __builtin_prefetch(next + wide / 2 + line);
                    __builtin_prefetch(next + wide * 3 / 4 + line);
                }
            }
            a = a + load(from);
            b = b + load(from + lanes);
            c = c + load(from + 2 * lanes);
            d = d + load(from + 3 * lanes);
        }
        if (fetches && !onto)
            for (std::int64_t l = i; l < i + wide; l += line) __builtin_prefetch(row(ahead) + l);
        store(to + i, a);
        store(to + i + lanes, b);
        store(to + i + 2 * lanes, c);
        store(to + i + 3 * lanes, d);
    }
    for (; i < n; i += lanes) {
        const int some = n - i < lanes ? static_cast<int>(n - i) : lanes;
        pack<T> sum = load_partial((onto ? to : row(0)) + i, some);
        for (std::int64_t k = begin; k < count; ++k) sum = sum + load_partial(row(k) + i, some);
        for (std::int64_t k = 0; k < count && ahead > 0 && i < few; ++k) __builtin_prefetch(row(k + ahead) + i);
        store_partial(to + i, sum, some);
    }
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
