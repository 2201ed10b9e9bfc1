// Softmax, its losses and layer normalisation, row by row: read once per instruction set by rows.ipp.

namespace tenon::simd::TENON_SIMD_NS {

// NaN needs no care when the largest element is sought: whatever is found, its exponential makes the sum NaN.

template <class T> TENON_SIMD_INLINE T largest_of(const T* x, std::int64_t n) {
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    pack<T> m[4];
    unrolled<4>([&](auto k) TENON_ROWS_LAMBDA { m[k] = broadcast<T>(lowest); });
    std::int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
        unrolled<4>([&](auto k) TENON_ROWS_LAMBDA { m[k] = larger(m[k], load(x + i + k * lanes)); });
    for_packs(n - i, [&](std::int64_t j, auto count)
                         TENON_ROWS_LAMBDA { m[0] = larger(m[0], load_filled(x + i + j, count)); });
    return fold<combine_larger, lanes / 2>(larger(larger(m[0], m[1]), larger(m[2], m[3]))).v[0][0];
}

/// The sum of e^(x - m); each term may be stored too. What lies `ahead` of each is fetched: a row that is waited for before
/// anything is computed of it takes as much time again, and machines expect nothing beyond a page.
template <bool Stored, class T>
TENON_SIMD_INLINE T sum_of_exponentials(const T* x, T* to, std::int64_t n, T m, std::int64_t ahead) {
    const pack<T> shift = broadcast<T>(m);
    pack<T> sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        fetch_packs<4>(x + i + ahead);
        unrolled<4>([&](auto k) TENON_ROWS_LAMBDA {
            const pack<T> e = exp_below_one(load(x + i + k * lanes) - shift);
            if constexpr (Stored) store(to + i + k * lanes, e);
            sums[k] = sums[k] + e;
        });
    }
    if (i < n) fetch_packs<4>(x + i + ahead);
    for_packs(n - i, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
        const pack<T> e = exp_below_one(load_filled(x + i + j, count) - shift);
        if constexpr (Stored) store_some(to + i + j, e, count);
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

// Blocks of at most `most_rows` rows that follow each other. Each phase goes over all of them: the end of a row, where lanes
// are combined, is not waited for by what is done next.

/// What is kept of e^(x - largest).
enum class exponentials { none, terms, shares };

/// Of each row its largest element and the sum of e^(x - largest). Whole packs; lanes of no row have a sum of 1.
template <class T> struct row_sums {
    alignas(64) T largest[tenon::detail::most_rows], sum[tenon::detail::most_rows];

    /// `to`, which may be x, has the terms, or what each is of its sum.
    template <exponentials Kept> TENON_SIMD_INLINE void find(const T* x, T* to, std::int64_t rows, std::int64_t n) {
        for (std::int64_t r = 0; r < rows; r += lanes) {
            store(largest + r, pack<T>{});
            store(sum + r, broadcast<T>(1));
        }
        if (n <= lanes) return find_short<Kept, 1>(x, to, rows, n);
        if (n <= 2 * lanes) return find_short<Kept, 2>(x, to, rows, n);
        if (n <= 4 * lanes) return find_short<Kept, 4>(x, to, rows, n);
        if (n <= 8 * lanes) return find_short<Kept, 8>(x, to, rows, n);
        for (std::int64_t r = 0; r < rows; ++r) largest[r] = largest_of(x + r * n, n);
        for (std::int64_t r = 0; r < rows; ++r)
            sum[r] = sum_of_exponentials<Kept != exponentials::none>(
                x + r * n, to + (Kept != exponentials::none ? r * n : 0), n, largest[r], rows * n);
        if constexpr (Kept == exponentials::shares)
            for (std::int64_t r = 0; r < rows; ++r) scale_row(to + r * n, n, T(1) / sum[r]);
    }

private:
    // Rows of more than half of `Packs` packs, or of one, in registers. The largest of all are found first: what depends on one
    // would fill the machine's queues.
    template <exponentials Kept, int Packs> void find_short(const T* x, T* to, std::int64_t rows, std::int64_t n) {
        constexpr int whole = Packs / 2;
        int left[Packs]; // elements in each pack
        for (int k = 0; k < Packs; ++k)
            left[k] = n < k * lanes ? 0 : n < (k + 1) * lanes ? static_cast<int>(n - k * lanes) : lanes;
        for (std::int64_t r = 0; r < rows; ++r) {
            pack<T> v[Packs];
            unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA {
                const T* const from = x + r * n + k * lanes;
                if constexpr (k < whole) v[k] = load(from);
                else v[k] = load_or(from, left[k], -std::numeric_limits<T>::infinity());
            });
            largest[r] = combine_all<combine_larger, Packs>(static_cast<const pack<T>*>(v)).v[0][0];
        }
        for (std::int64_t r = 0; r < rows; ++r) {
            const pack<T> shift = broadcast<T>(largest[r]);
            pack<T> e[Packs];
            unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA {
                const T* const from = x + r * n + k * lanes;
                __builtin_prefetch(from + rows * n);
                if constexpr (k < whole) e[k] = exp_below_one(load(from) - shift);
                else if (left[k] == 0) e[k] = pack<T>{};
                else e[k] = exp_below_one(load_or(from, left[k], -std::numeric_limits<T>::infinity()) - shift);
            });
            sum[r] = combine_all<combine_add, Packs>(static_cast<const pack<T>*>(e)).v[0][0];
            if constexpr (Kept == exponentials::none) continue;
            const pack<T> scale = broadcast<T>(Kept == exponentials::shares ? T(1) / sum[r] : T(1));
            unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA {
                const pack<T> kept = Kept == exponentials::shares ? e[k] * scale : e[k];
                if constexpr (k < whole) store(to + r * n + k * lanes, kept);
                else store_partial(to + r * n + k * lanes, kept, left[k]);
            });
        }
    }
};

template <class T> inline void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t classes, bool logarithm) {
    row_sums<T> s;
    if (!logarithm) return s.template find<exponentials::shares>(x, y, rows, classes);
    s.template find<exponentials::none>(x, nullptr, rows, classes);
    for (std::int64_t r = 0; r < rows; r += lanes) store(s.sum + r, log(load(s.sum + r)));
    for (std::int64_t r = 0; r < rows; ++r) {
        const T* const in = x + r * classes;
        const pack<T> shift = broadcast<T>(s.largest[r]), rest = broadcast<T>(s.sum[r]);
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            store_some(y + r * classes + i, (load_some(in + i, count) - shift) - rest, count);
        });
    }
}

template <class T>
inline void softmax_backward_rows(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t classes,
                                  bool logarithm) {
    T sums[tenon::detail::most_rows];
    for (std::int64_t r = 0; r < rows; ++r) {
        const T *value = y + r * classes, *g = dy + r * classes;
        pack<T> sum = {};
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            const pack<T> d = load_some(g + i, count); // zero where there is nothing
            sum = logarithm ? sum + d : fma(d, load_some(value + i, count), sum);
        });
        sums[r] = reduce_add(sum);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
        const T *value = y + r * classes, *g = dy + r * classes;
        const pack<T> sum = broadcast<T>(sums[r]);
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            __builtin_prefetch(value + i + rows * classes);
            __builtin_prefetch(g + i + rows * classes);
            const pack<T> d = load_some(g + i, count), v = load_some(value + i, count);
            store_some(dx + r * classes + i, logarithm ? d - exp(v) * sum : v * (d - sum), count);
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

/// `terms` has room for whole packs of the columns of each class, where y is streamed; else it is null. What comes after the columns is
/// fetched meanwhile.
template <class T>
inline void softmax_columns(const T* x, T* y, T* terms, std::int64_t columns, std::int64_t classes, std::int64_t inner,
                            bool logarithm) {
    using tenon::detail::most_columns;
    alignas(64) T m[most_columns], sums[most_columns], line[most_columns + 64 / sizeof(T)];
    const std::int64_t step = terms ? (columns + lanes - 1) / lanes * lanes : inner;
    T* const to = terms ? terms : y;
    for (std::int64_t i = 0; i < columns; i += lanes) {
        store(m + i, broadcast<T>(-std::numeric_limits<T>::infinity()));
        store(sums + i, pack<T>{});
    }
    // Four slices side by side: each begins where the machine expects nothing.
    const std::int64_t fours = classes / 4 * 4;
    for (std::int64_t c = 0; c < fours; c += 4)
        for_packs(columns, [&](std::int64_t i, auto n) TENON_ROWS_LAMBDA {
            const T* const from = x + c * inner + i;
            const pack<T> a = larger(load_some(from, n), load_some(from + inner, n));
            const pack<T> b = larger(load_some(from + 2 * inner, n), load_some(from + 3 * inner, n));
            store(m + i, larger(load(m + i), larger(a, b)));
        });
    for_slices(columns, classes - fours, inner, [&](std::int64_t i, std::int64_t at, auto n) TENON_ROWS_LAMBDA {
        store(m + i, larger(load(m + i), load_some(x + fours * inner + at, n)));
    });
    for (std::int64_t c = 0; c < classes; ++c)
        for_packs(columns, [&](std::int64_t i, auto n) TENON_ROWS_LAMBDA {
            const T* const from = x + c * inner + i;
            __builtin_prefetch(from + columns);
            const pack<T> e = exp_below_one(load_some(from, n) - load(m + i));
            if (!logarithm) store_some(to + c * step + i, e, n);
            store(sums + i, load(sums + i) + e);
        });
    for (std::int64_t i = 0; i < columns; i += lanes)
        store(sums + i, logarithm ? log(load(sums + i)) : broadcast<T>(1) / load(sums + i));
    for (std::int64_t c = 0; c < classes; ++c) {
        T *const place = y + c * inner, *const row = terms ? tenon::detail::aligned_like(line, place) : place;
        for_packs(columns, [&](std::int64_t i, auto n) TENON_ROWS_LAMBDA {
            const pack<T> rest = load(sums + i);
            if (logarithm) store_some(row + i, (load_some(x + c * inner + i, n) - load(m + i)) - rest, n);
            else store_some(row + i, load_some(to + c * step + i, n) * rest, n);
        });
        if (terms) tenon::detail::stream(place, row, static_cast<std::size_t>(columns) * sizeof(T));
    }
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
/// null. The labels are those of rows first, first + 1, .., and have been checked.
template <class T>
inline void sparse_cross_entropy_rows(const T* x, tenon::detail::label_list label, std::int64_t first, T* loss, T* dx,
                                      std::int64_t rows, std::int64_t classes) {
    row_sums<T> s;
    alignas(64) T at_label[tenon::detail::most_rows] = {};
    for (std::int64_t r = 0; r < rows; ++r) at_label[r] = x[r * classes + label[first + r]]; // dx may lie where x does
    if (dx) s.template find<exponentials::shares>(x, dx, rows, classes);
    else s.template find<exponentials::none>(x, nullptr, rows, classes);
    for (std::int64_t r = 0; r < rows; r += lanes) {
        const pack<T> sum = load(s.sum + r), distance = load(at_label + r) - load(s.largest + r);
        const auto count = static_cast<int>(rows - r < lanes ? rows - r : lanes);
        if (loss) store_partial(loss + r, log(sum) - distance, count);
        store(at_label + r, (exp_below_one(distance) - sum) / sum);
    }
    for (std::int64_t r = 0; r < rows && dx; ++r) dx[r * classes + label[first + r]] = at_label[r];
}

/// loss[r] = sum over c of p[r, c] (ln(sum over k of e^x[r, k]) - x[r, c]), where p = 0 gives 0;
/// dx[r, c] = softmax(x)[r, c] (sum over k of p[r, k]) - p[r, c]. Either may be null.
template <class T>
inline void cross_entropy_rows(const T* x, const T* p, T* loss, T* dx, std::int64_t rows, std::int64_t classes) {
    const pack<T> zero = {};
    row_sums<T> s;
    if (dx) s.template find<exponentials::terms>(x, dx, rows, classes);
    else s.template find<exponentials::none>(x, nullptr, rows, classes);
    alignas(64) T logs[tenon::detail::most_rows];
    for (std::int64_t r = 0; r < rows; r += lanes) store(logs + r, log(load(s.sum + r)));
    for (std::int64_t r = 0; r < rows; ++r) {
        const T *in = x + r * classes, *weight = p + r * classes;
        const pack<T> shift = broadcast<T>(s.largest[r]), rest = broadcast<T>(logs[r]);
        pack<T> losses = {}, weights = {};
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            __builtin_prefetch(weight + i + rows * classes);
            const pack<T> w = load_some(weight + i, count);
            const pack<T> d = rest - (load_some(in + i, count) - shift);
            losses = losses + select(w == zero, zero, w * d);
            weights = weights + w;
        });
        if (loss) loss[r] = reduce_add(losses);
        if (!dx) continue;
        T* out = dx + r * classes;
        const pack<T> scale = broadcast<T>(reduce_add(weights) / s.sum[r]);
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
                            T* mean, T* factor, std::int64_t rows, std::int64_t n, T epsilon) {
    using tenon::detail::most_rows;
    alignas(64) T means[most_rows], factors[most_rows];
    const std::int64_t ahead = rows * n;
    const T* in = x;
    if (added.y) {
        T* const to = added.sum ? added.sum : y;
        in = to;
        for (std::int64_t r = 0; r < rows; ++r)
            for_packs(n, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
                const std::int64_t at = r * n + j;
                __builtin_prefetch(x + at + ahead);
                __builtin_prefetch(added.y + at + ahead);
                pack<T> more = load_some(added.y + at, count);
                if (added.bias) more = more + load_some(added.bias + j, count);
                store_some(to + at, load_some(x + at, count) + more, count);
            });
    }
    for (std::int64_t r = 0; r < rows; ++r) {
        const T* const row = in + r * n;
        pack<T> sums[4] = {};
        std::int64_t i = 0;
        for (; i + 4 * lanes <= n; i += 4 * lanes)
            unrolled<4>([&](auto k) TENON_ROWS_LAMBDA { sums[k] = sums[k] + load(row + i + k * lanes); });
        for_packs(n - i, [&](std::int64_t j, auto count)
                             TENON_ROWS_LAMBDA { sums[0] = sums[0] + load_some(row + i + j, count); });
        means[r] = reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<T>(n);
    }
    for (std::int64_t r = 0; r < rows; r += lanes) store(factors + r, pack<T>{});
    for (std::int64_t r = 0; r < rows; ++r) {
        const T* const row = in + r * n;
        const pack<T> center = broadcast<T>(means[r]);
        pack<T> squares[4] = {};
        std::int64_t i = 0;
        for (; i + 4 * lanes <= n; i += 4 * lanes) {
            fetch_packs<4>(row + i + ahead);
            unrolled<4>([&](auto k) TENON_ROWS_LAMBDA {
                const pack<T> d = load(row + i + k * lanes) - center;
                squares[k] = fma(d, d, squares[k]);
            });
        }
        if (i < n) fetch_packs<4>(row + i + ahead);
        for_packs(n - i, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
            const pack<T> d = keep_some<T>(load_some(row + i + j, count) - center, count, T(0));
            squares[0] = fma(d, d, squares[0]);
        });
        factors[r] = reduce_add((squares[0] + squares[1]) + (squares[2] + squares[3])) / static_cast<T>(n);
    }
    for (std::int64_t r = 0; r < rows; r += lanes) store(factors + r, rsqrt(load(factors + r) + broadcast<T>(epsilon)));
    for (std::int64_t r = 0; r < rows; ++r) {
        if (mean) mean[r] = means[r];
        if (factor) factor[r] = factors[r];
        if (!y) continue;
        const pack<T> center = broadcast<T>(means[r]), scale = broadcast<T>(factors[r]);
        for_packs(n, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
            const pack<T> z = (load_some(in + r * n + j, count) - center) * scale;
            store_some(y + r * n + j, fma(z, load_some(gamma + j, count), load_some(beta + j, count)), count);
        });
    }
}

/// Of `Rows` rows, the sums of h and of h z, see below, and what they bring to dgamma and dbeta.
template <int Rows, class T>
TENON_SIMD_INLINE void sum_gradients(const T* x, const T* gamma, const T* dy, const T* mean, const T* factor, T* dgamma,
                                     T* dbeta, std::int64_t n, T* sum_h, T* sum_hz) {
    pack<T> center[Rows], scale[Rows], a[Rows] = {}, b[Rows] = {};
    unrolled<Rows>([&](auto k) TENON_ROWS_LAMBDA {
        center[k] = broadcast<T>(mean[k]);
        scale[k] = broadcast<T>(factor[k]);
    });
    for_packs(n, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
        const pack<T> weight = load_some(gamma + i, count);
        pack<T> more_gamma = dgamma ? load_some(dgamma + i, count) : pack<T>{};
        pack<T> more_beta = dbeta ? load_some(dbeta + i, count) : pack<T>{};
        unrolled<Rows>([&](auto k) TENON_ROWS_LAMBDA {
            const pack<T> d = load_some(dy + k * n + i, count);
            const pack<T> z = (load_some(x + k * n + i, count) - center[k]) * scale[k];
            const pack<T> h = d * weight;
            a[k] = a[k] + h;
            b[k] = fma(h, z, b[k]);
            more_gamma = fma(d, z, more_gamma);
            more_beta = more_beta + d;
        });
        if (dgamma) store_some(dgamma + i, more_gamma, count);
        if (dbeta) store_some(dbeta + i, more_beta, count);
    });
    unrolled<Rows>([&](auto k) TENON_ROWS_LAMBDA {
        sum_h[k] = reduce_add(a[k]);
        sum_hz[k] = reduce_add(b[k]);
    });
}

/// With z = (x - mean) factor and h = dy gamma: dx = factor (h - mean of h - z mean of h z) + more; adds dy z to dgamma and dy
/// to dbeta. Any of the three, and `more`, may be null.
template <class T>
inline void layer_norm_backward_rows(const T* x, const T* gamma, const T* dy, const T* mean, const T* factor,
                                     const T* more, T* dx, T* dgamma, T* dbeta, std::int64_t rows, std::int64_t n) {
    T sum_h[tenon::detail::most_rows], sum_hz[tenon::detail::most_rows];
    std::int64_t r = 0;
    for (; r + 2 <= rows; r += 2)
        sum_gradients<2>(x + r * n, gamma, dy + r * n, mean + r, factor + r, dgamma, dbeta, n, sum_h + r, sum_hz + r);
    if (r < rows)
        sum_gradients<1>(x + r * n, gamma, dy + r * n, mean + r, factor + r, dgamma, dbeta, n, sum_h + r, sum_hz + r);
    const std::int64_t ahead = rows * n;
    for (r = 0; r < rows && dx; ++r) {
        const pack<T> center = broadcast<T>(mean[r]), scale = broadcast<T>(factor[r]);
        const pack<T> mean_h = broadcast<T>(sum_h[r] / static_cast<T>(n));
        const pack<T> mean_hz = broadcast<T>(sum_hz[r] / static_cast<T>(n));
        for_packs(n, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            const std::int64_t at = r * n + i;
            __builtin_prefetch(x + at + ahead);
            __builtin_prefetch(dy + at + ahead);
            const pack<T> z = (load_some(x + at, count) - center) * scale;
            const pack<T> h = load_some(dy + at, count) * load_some(gamma + i, count);
            const pack<T> d = scale * ((h - mean_h) - z * mean_hz);
            store_some(dx + at, more ? d + load_some(more + at, count) : d, count);
        });
    }
}

} // namespace tenon::simd::TENON_SIMD_NS
