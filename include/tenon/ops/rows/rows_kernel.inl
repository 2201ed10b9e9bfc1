// Softmax, its losses and layer normalisation, row by row: read once per instruction set by rows.ipp.

namespace tenon::simd::TENON_SIMD_NS {

// NaN needs no care when the largest element is sought: whatever is found, its exponential makes the sum NaN.

template <class T> TENON_SIMD_INLINE T largest(const T* x, std::int64_t n) {
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    pack<T> m[4];
    four_times([&](auto k) TENON_ROWS_LAMBDA { m[k] = broadcast<T>(lowest); });
    std::int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
        four_times([&](auto k) TENON_ROWS_LAMBDA { m[k] = larger(m[k], load(x + i + k * lanes)); });
    for_packs(n - i, [&](std::int64_t j, auto count)
                         TENON_ROWS_LAMBDA { m[0] = larger(m[0], load_filled(x + i + j, count)); });
    return fold<combine_quick_max, lanes / 2>(larger(larger(m[0], m[1]), larger(m[2], m[3]))).v[0][0];
}

/// The sum of e^(x - m); each term is stored too unless `to` is null.
template <class T> TENON_SIMD_INLINE T sum_of_exponentials(const T* x, T* to, std::int64_t n, T m) {
    const pack<T> shift = broadcast<T>(m);
    pack<T> sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
        four_times([&](auto k) TENON_ROWS_LAMBDA {
            const pack<T> e = exp_below_one(load(x + i + k * lanes) - shift);
            if (to) store(to + i + k * lanes, e);
            sums[k] = sums[k] + e;
        });
    for_packs(n - i, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
        const pack<T> e = exp_below_one(load_filled(x + i + j, count) - shift);
        if (to) store_some(to + i + j, e, count);
        sums[0] = sums[0] + keep_some<T>(e, count, T(0));
    });
    return reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// n elements times `scale`.
template <class T> TENON_SIMD_INLINE void scale_row(T* y, std::int64_t n, T scale) {
    const pack<T> factor = broadcast<T>(scale);
    for_packs(n, [&](std::int64_t i, auto count)
                     TENON_ROWS_LAMBDA { store_some(y + i, load_some(y + i, count) * factor, count); });
}

template <class T> TENON_SIMD_INLINE T log_of_one(T x) { return extract(log(broadcast<T>(x)), 0); }

// Rows of `classes` elements that follow each other: rows begin .. end-1.

template <class T>
inline void softmax_rows(const T* x, T* y, std::int64_t begin, std::int64_t end, std::int64_t classes, bool logarithm) {
    for (std::int64_t r = begin; r < end; ++r) {
        const T* in = x + r * classes;
        T* out = y + r * classes;
        const T m = largest(in, classes);
        if (logarithm) {
            const T s = sum_of_exponentials<T>(in, nullptr, classes, m);
            const pack<T> shift = broadcast<T>(m), rest = broadcast<T>(log_of_one(s));
            for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
                store_some(out + i, (load_some(in + i, count) - shift) - rest, count);
            });
        } else {
            const T s = sum_of_exponentials(in, out, classes, m);
            scale_row(out, classes, T(1) / s);
        }
    }
}

template <class T>
inline void softmax_backward_rows(const T* y, const T* dy, T* dx, std::int64_t begin, std::int64_t end,
                                  std::int64_t classes, bool logarithm) {
    for (std::int64_t r = begin; r < end; ++r) {
        const T *value = y + r * classes, *g = dy + r * classes;
        T* out = dx + r * classes;
        pack<T> sums = {};
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            const pack<T> d = load_some(g + i, count); // zero where there is nothing
            sums = logarithm ? sums + d : fma(d, load_some(value + i, count), sums);
        });
        const pack<T> sum = broadcast<T>(reduce_add(sums));
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            const pack<T> d = load_some(g + i, count), v = load_some(value + i, count);
            store_some(out + i, logarithm ? d - exp(v) * sum : v * (d - sum), count);
        });
    }
}

// The same along the middle of [outer, classes, inner]: up to `most_columns` neighbouring columns at a time, so that
// memory is read in long pieces. What is kept of each column lies in arrays of whole packs.

template <class F>
TENON_SIMD_INLINE void for_slices(std::int64_t columns, std::int64_t classes, std::int64_t inner, const F& f) {
    for (std::int64_t c = 0; c < classes; ++c)
        for_packs(columns, [&](std::int64_t i, auto n) TENON_ROWS_LAMBDA { f(i, c * inner + i, n); });
}

template <class T>
inline void softmax_columns(const T* x, T* y, std::int64_t columns, std::int64_t classes, std::int64_t inner,
                            bool logarithm) {
    alignas(64) T m[tenon::detail::most_columns], sums[tenon::detail::most_columns];
    for (std::int64_t i = 0; i < columns; i += lanes) {
        store(m + i, broadcast<T>(-std::numeric_limits<T>::infinity()));
        store(sums + i, pack<T>{});
    }
    for_slices(columns, classes, inner, [&](std::int64_t i, std::int64_t at, auto n) TENON_ROWS_LAMBDA {
        __builtin_prefetch(x + at + 4 * inner); // each slice begins a page that the machine does not expect
        store(m + i, larger(load(m + i), load_some(x + at, n)));
    });
    for_slices(columns, classes, inner, [&](std::int64_t i, std::int64_t at, auto n) TENON_ROWS_LAMBDA {
        __builtin_prefetch(y + at + 4 * inner, 1);
        const pack<T> e = exp_below_one(load_some(x + at, n) - load(m + i));
        if (!logarithm) store_some(y + at, e, n);
        store(sums + i, load(sums + i) + e);
    });
    for (std::int64_t i = 0; i < columns; i += lanes)
        store(sums + i, logarithm ? log(load(sums + i)) : broadcast<T>(1) / load(sums + i));
    for_slices(columns, classes, inner, [&](std::int64_t i, std::int64_t at, auto n) TENON_ROWS_LAMBDA {
        const pack<T> rest = load(sums + i);
        if (logarithm) store_some(y + at, (load_some(x + at, n) - load(m + i)) - rest, n);
        else store_some(y + at, load_some(y + at, n) * rest, n);
    });
}
template <class T>
inline void softmax_backward_columns(const T* y, const T* dy, T* dx, std::int64_t columns, std::int64_t classes,
                                     std::int64_t inner, bool logarithm) {
    alignas(64) T sums[tenon::detail::most_columns];
    for (std::int64_t i = 0; i < columns; i += lanes) store(sums + i, pack<T>{});
    for_slices(columns, classes, inner, [&](std::int64_t i, std::int64_t at, auto n) TENON_ROWS_LAMBDA {
        const pack<T> d = load_some(dy + at, n), sum = load(sums + i);
        store(sums + i, logarithm ? sum + d : fma(d, load_some(y + at, n), sum));
    });
    for_slices(columns, classes, inner, [&](std::int64_t i, std::int64_t at, auto n) TENON_ROWS_LAMBDA {
        const pack<T> d = load_some(dy + at, n), v = load_some(y + at, n), sum = load(sums + i);
        store_some(dx + at, logarithm ? d - exp(v) * sum : v * (d - sum), n);
    });
}

/// loss[r] = ln(sum over c of e^x[r, c]) - x[r, label[r]]; dx[r, c] = softmax(x)[r, c] - (c == label[r]). Either may be
/// null. The labels have been checked.
template <class T>
inline void sparse_cross_entropy_rows(const T* x, tenon::detail::label_list label, T* loss, T* dx, std::int64_t begin,
                                      std::int64_t end, std::int64_t classes) {
    T sums[lanes], shifts[lanes] = {};
    store(static_cast<T*>(sums), broadcast<T>(1));
    for (std::int64_t r = begin; r < end; ++r) {
        const T* in = x + r * classes;
        T* out = dx ? dx + r * classes : nullptr;
        const auto hit = label[r];
        const T at_label = in[hit]; // dx may lie where x does
        const T m = largest(in, classes);
        const T s = sum_of_exponentials(in, out, classes, m);
        const auto k = static_cast<int>((r - begin) % lanes);
        sums[k] = s;
        shifts[k] = m - at_label;
        if (out) {
            scale_row(out, classes, T(1) / s);
            out[hit] = (extract(exp_below_one(broadcast<T>(at_label - m)), 0) - s) / s;
        }
        if (loss && (k == lanes - 1 || r + 1 == end))
            store_partial(loss + r - k, log(load(static_cast<const T*>(sums))) + load(static_cast<const T*>(shifts)),
                          k + 1);
    }
}

/// loss[r] = sum over c of p[r, c] (ln(sum over k of e^x[r, k]) - x[r, c]), where p = 0 gives 0;
/// dx[r, c] = softmax(x)[r, c] (sum over k of p[r, k]) - p[r, c]. Either may be null.
template <class T>
inline void cross_entropy_rows(const T* x, const T* p, T* loss, T* dx, std::int64_t begin, std::int64_t end,
                               std::int64_t classes) {
    const pack<T> zero = {};
    for (std::int64_t r = begin; r < end; ++r) {
        const T *in = x + r * classes, *weight = p + r * classes;
        T* out = dx ? dx + r * classes : nullptr;
        const T m = largest(in, classes);
        const T s = sum_of_exponentials(in, out, classes, m);
        const pack<T> shift = broadcast<T>(m), rest = broadcast<T>(log_of_one(s));
        pack<T> losses = {}, weights = {};
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            const pack<T> w = load_some(weight + i, count);
            const pack<T> d = rest - (load_some(in + i, count) - shift);
            losses = losses + select(w == zero, zero, w * d);
            weights = weights + w;
        });
        if (loss) loss[r] = reduce_add(losses);
        if (!out) continue;
        const pack<T> scale = broadcast<T>(reduce_add(weights) / s);
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            store_some(out + i, load_some(out + i, count) * scale - load_some(weight + i, count), count);
        });
    }
}

// Layer normalisation. Means and factors are kept in the type that is computed in.

/// mean[r] over the row, factor[r] = 1 / sqrt(mean of (x - mean)^2 + epsilon), y = (x - mean) factor gamma + beta, of x or of a sum with it,
/// which is in the cache when it is read again.
template <class T>
inline void layer_norm_rows(const T* x, const tenon::detail::row_sum<T>& added, const T* gamma, const T* beta, T* y,
                            T* mean, T* factor, std::int64_t begin, std::int64_t end, std::int64_t n, T epsilon) {
    for (std::int64_t r = begin; r < end; ++r) {
        const T* in = x + r * n;
        if (added.y) {
            T* const to = (added.sum ? added.sum : y) + r * n;
            for_packs(n, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
                pack<T> more = load_some(added.y + r * n + j, count);
                if (added.bias) more = more + load_some(added.bias + j, count);
                store_some(to + j, load_some(in + j, count) + more, count);
            });
            in = to;
        }
        pack<T> sums[4] = {};
        std::int64_t i = 0;
        for (; i + 4 * lanes <= n; i += 4 * lanes)
            four_times([&](auto k) TENON_ROWS_LAMBDA { sums[k] = sums[k] + load(in + i + k * lanes); });
        for_packs(n - i, [&](std::int64_t j, auto count)
                             TENON_ROWS_LAMBDA { sums[0] = sums[0] + load_some(in + i + j, count); });
        const T m = reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<T>(n);
        const pack<T> center = broadcast<T>(m);
        pack<T> squares[4] = {};
        i = 0;
        for (; i + 4 * lanes <= n; i += 4 * lanes)
            four_times([&](auto k) TENON_ROWS_LAMBDA {
                const pack<T> d = load(in + i + k * lanes) - center;
                squares[k] = fma(d, d, squares[k]);
            });
        for_packs(n - i, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
            const pack<T> d = keep_some<T>(load_some(in + i + j, count) - center, count, T(0));
            squares[0] = fma(d, d, squares[0]);
        });
        const T variance = reduce_add((squares[0] + squares[1]) + (squares[2] + squares[3])) / static_cast<T>(n);
        const T f = extract(rsqrt(broadcast<T>(variance + epsilon)), 0);
        if (mean) mean[r] = m;
        if (factor) factor[r] = f;
        if (!y) continue;
        const pack<T> scale = broadcast<T>(f);
        for_packs(n, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
            const pack<T> z = (load_some(in + j, count) - center) * scale;
            store_some(y + r * n + j, fma(z, load_some(gamma + j, count), load_some(beta + j, count)), count);
        });
    }
}

/// With z = (x - mean) factor and h = dy gamma: dx = factor (h - mean of h - z mean of h z) + more; adds dy z to dgamma and dy
/// to dbeta. Any of the three, and `more`, may be null.
template <class T>
inline void layer_norm_backward_rows(const T* x, const T* gamma, const T* dy, const T* mean, const T* factor,
                                     const T* more, T* dx, T* dgamma, T* dbeta, std::int64_t begin, std::int64_t end,
                                     std::int64_t n) {
    for (std::int64_t r = begin; r < end; ++r) {
        const T *in = x + r * n, *g = dy + r * n;
        const pack<T> center = broadcast<T>(mean[r]), scale = broadcast<T>(factor[r]);
        pack<T> a = {}, b = {};
        for_packs(n, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            const pack<T> d = load_some(g + i, count);
            const pack<T> z = (load_some(in + i, count) - center) * scale;
            const pack<T> h = d * load_some(gamma + i, count);
            a = a + h;
            b = fma(h, z, b);
            if (dgamma) store_some(dgamma + i, fma(d, z, load_some(dgamma + i, count)), count);
            if (dbeta) store_some(dbeta + i, load_some(dbeta + i, count) + d, count);
        });
        if (!dx) continue;
        const pack<T> mean_h = broadcast<T>(reduce_add(a) / static_cast<T>(n));
        const pack<T> mean_hz = broadcast<T>(reduce_add(b) / static_cast<T>(n));
        for_packs(n, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            const pack<T> z = (load_some(in + i, count) - center) * scale;
            const pack<T> h = load_some(g + i, count) * load_some(gamma + i, count);
            const pack<T> d = scale * ((h - mean_h) - z * mean_hz);
            store_some(dx + r * n + i, more ? d + load_some(more + r * n + i, count) : d, count);
        });
    }
}

} // namespace tenon::simd::TENON_SIMD_NS
