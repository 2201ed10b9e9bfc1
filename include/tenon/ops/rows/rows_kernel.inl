// Softmax, its losses and layer normalisation, row by row: read once per instruction set by rows.ipp.

namespace tenon::simd::TENON_SIMD_NS {

using tenon::detail::waiting_lines;

// Kernels work on blocks of at most `most_rows` rows that follow each other, and write the lines of the block before meanwhile:
// what computes for long writes as many as it fills. What lies `ahead`, a block further, is fetched: machines expect nothing beyond a page.

// NaN needs no care when the largest element is sought: whatever is found, its exponential makes the sum NaN.

/// What is kept of the exponentials of a row.
enum class exponentials { none, terms, shares };

/// Of each row the sum of its exponentials beside a power of 2 (`exp_reference`), and its largest element where `Largest` says so.
template <class T> class row_sums {
public:
    // Whole packs; lanes of no row are as if they had a row of one 0.
    alignas(64) T sum[tenon::detail::most_rows], largest[tenon::detail::most_rows];

    /// `to`, which may be x unless terms are kept, has the terms, or what each is of its sum.
    template <exponentials Kept, bool Largest>
    TENON_SIMD_INLINE void find(const T* x, T* to, std::int64_t rows, std::int64_t n, waiting_lines& w) {
        const std::int64_t last = (rows - 1) / lanes * lanes;
        store(base_ + last, pack<T>{});
        store(largest + last, pack<T>{});
        store(sum + last, broadcast<T>(1));
        for (std::int64_t r = 0; r < rows; ++r) { // some of a row may be masked
            const T *const row = x + r * n, a = row[0], b = row[n / 3], c = row[n * 2 / 3], d = row[n - 1];
            const T ab = a > b ? a : b, cd = c > d ? c : d;
            base_[r] = ab > cd ? ab : cd;
        }
        for (std::int64_t r = 0; r < rows; r += lanes) {
            const auto k = exp_reference<T>::of(load(base_ + r));
            store(base_ + r, k.base);
            store(least_ + r, k.least);
        }
        if (n <= lanes) find_short<Kept, Largest, 1>(x, to, rows, n, w);
        else if (n <= 2 * lanes) find_short<Kept, Largest, 2>(x, to, rows, n, w);
        else if (n <= 4 * lanes) find_short<Kept, Largest, 4>(x, to, rows, n, w);
        else if (n <= 6 * lanes) find_short<Kept, Largest, 6>(x, to, rows, n, w);
        else if (n <= 8 * lanes) find_short<Kept, Largest, 8>(x, to, rows, n, w);
        else find_long<Kept, Largest>(x, to, rows, n, w);
    }
    /// The sums of e^(x - largest), at least 1, of as many rows as there are lanes.
    TENON_SIMD_INLINE pack<T> beside_largest(std::int64_t r) const {
        const pack<T> base = load(base_ + r), one = broadcast<T>(1);
        const exp_reference<T> near{{}, base, load(least_ + r)};
        return load(sum + r) / select(base == pack<T>{}, one, near.exp(load(largest + r)));
    }

private:
    alignas(64) T base_[tenon::detail::most_rows]; // 0: the sum is beside e^largest
    alignas(64) T least_[tenon::detail::most_rows];

    TENON_SIMD_INLINE exp_reference<T> reference(std::int64_t r) const {
        return {{}, broadcast<T>(base_[r]), broadcast<T>(least_[r])};
    }
    // For a row that holds what is much larger than those that were looked at, or infinite.
    [[gnu::noinline]] exp_reference<T> look_at_all(const T* row, std::int64_t n, std::int64_t r) {
        pack<T> most = broadcast<T>(-std::numeric_limits<T>::infinity());
        for_packs(n, [&](std::int64_t i, auto count)
                         TENON_ROWS_LAMBDA { most = larger(most, load_filled(row + i, count)); });
        largest[r] = combine_all<combine_larger, 1>(&most).v[0][0];
        base_[r] = 0;
        return exp_reference<T>::largest(broadcast<T>(largest[r]));
    }

    // Rows in registers, of more than Packs - 2 packs, or of one.
    template <exponentials Kept, bool Largest, int Packs>
    void find_short(const T* x, T* to, std::int64_t rows, std::int64_t n, waiting_lines& w) {
        constexpr int whole = Packs > 2 ? Packs - 2 : Packs - 1;
        int left[Packs]; // elements in each pack
        for (int k = 0; k < Packs; ++k) left[k] = static_cast<int>(std::clamp<std::int64_t>(n - k * lanes, 0, lanes));
        for (std::int64_t r = 0; r < rows; ++r) {
            const T* const row = x + r * n;
            exp_reference<T> near = reference(r);
            pack<T> e[Packs], most[Packs];
            for (bool again = false;; again = true) {
                unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA {
                    const T* const from = row + k * lanes;
                    __builtin_prefetch(from + rows * n);
                    if constexpr (k < whole) {
                        most[k] = load(from);
                        e[k] = near.exp(most[k]);
                    } else if (k > 0 && left[k] == 0) {
                        most[k] = most[0];
                        e[k] = pack<T>{};
                    } else {
                        most[k] = load_tail(from, left[k]);
                        e[k] = keep_some(near.exp(most[k]), left[k], T(0));
                    }
                });
                sum[r] = combine_all<combine_add, Packs>(static_cast<const pack<T>*>(e)).v[0][0];
                if (is_near(sum[r]) || again) [[likely]]
                    break;
                near = look_at_all(row, n, r);
            }
            write_packs<Packs, T>(w);
            if constexpr (Largest)
                largest[r] = combine_all<combine_larger, Packs>(static_cast<const pack<T>*>(most)).v[0][0];
            if constexpr (Kept == exponentials::none) continue;
            const pack<T> scale = broadcast<T>(Kept == exponentials::shares ? T(1) / sum[r] : T(1));
            unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA {
                const pack<T> kept = Kept == exponentials::shares ? e[k] * scale : e[k];
                if constexpr (k < whole) store(to + r * n + k * lanes, kept);
                else store_partial(to + r * n + k * lanes, kept, left[k]);
            });
        }
    }

    template <exponentials Kept, bool Largest>
    void find_long(const T* x, T* to, std::int64_t rows, std::int64_t n, waiting_lines& w) {
        using tenon::detail::longest_row;
        // In place terms are kept beside, since x is read again where something is far; of the longest rows they are computed twice.
        alignas(64) T line[longest_row<T>];
        const bool in_place = Kept == exponentials::shares && to == x;
        for (std::int64_t r = 0; r < rows; ++r) {
            const T* const row = x + r * n;
            T* const place = Kept == exponentials::none ? nullptr : to + r * n;
            T* const terms = !in_place ? place : n <= longest_row<T> ? line : nullptr;
            exp_reference<T> near = reference(r);
            pack<T> sums[4], most[4];
            for (bool again = false;; again = true) {
                unrolled<4>([&](auto k) TENON_ROWS_LAMBDA {
                    sums[k] = pack<T>{};
                    most[k] = broadcast<T>(-std::numeric_limits<T>::infinity());
                });
                const auto take = [&](auto k, std::int64_t i, auto count) TENON_ROWS_LAMBDA {
                    const pack<T> v = load_filled(row + i, count), e = near.exp(v);
                    if (Kept != exponentials::none && terms) store_some(terms + i, e, count);
                    if constexpr (Largest) most[k] = larger(most[k], v);
                    sums[k] = sums[k] + keep_some<T>(e, count, T(0));
                };
                std::int64_t i = 0;
                for (; i + 4 * lanes <= n; i += 4 * lanes) {
                    fetch_packs<4>(row + i + rows * n);
                    unrolled<4>([&](auto k) TENON_ROWS_LAMBDA {
                        take(k, i + k * lanes, std::integral_constant<int, lanes>{});
                    });
                    write_packs<4, T>(w);
                }
                if (i < n) fetch_packs<4>(row + i + rows * n);
                for_packs(n - i, [&](std::int64_t j, auto count)
                                     TENON_ROWS_LAMBDA { take(std::integral_constant<int, 0>{}, i + j, count); });
                sum[r] = combine_all<combine_add, 4>(static_cast<const pack<T>*>(sums)).v[0][0];
                if (is_near(sum[r]) || again) [[likely]]
                    break;
                near = look_at_all(row, n, r);
            }
            if constexpr (Largest)
                largest[r] = combine_all<combine_larger, 4>(static_cast<const pack<T>*>(most)).v[0][0];
            if constexpr (Kept == exponentials::shares) {
                for_packs(terms ? 0 : n, [&](std::int64_t j, auto count) TENON_ROWS_LAMBDA {
                    store_some(place + j, near.exp(load_filled(row + j, count)), count);
                });
                scale_row(terms ? terms : place, place, n, T(1) / sum[r]);
            }
        }
    }

    TENON_SIMD_INLINE static void scale_row(const T* x, T* y, std::int64_t n, T scale) {
        const pack<T> factor = broadcast<T>(scale);
        for_packs(n, [&](std::int64_t i, auto count)
                         TENON_ROWS_LAMBDA { store_some(y + i, load_some(x + i, count) * factor, count); });
    }
};

template <class T>
inline void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t classes, bool logarithm, waiting_lines& w) {
    row_sums<T> s;
    if (!logarithm) return s.template find<exponentials::shares, false>(x, y, rows, classes, w);
    s.template find<exponentials::none, true>(x, nullptr, rows, classes, w);
    for (std::int64_t r = 0; r < rows; r += lanes) store(s.sum + r, log(s.beside_largest(r)));
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

/// loss[r] = ln(sum over c of e^x[r, c]) - x[r, label[r]]; dx[r, c] = softmax(x)[r, c] - (c == label[r]). Either may be
/// null. The labels are those of rows first, first + 1, .., and have been checked.
template <class T>
inline void sparse_cross_entropy_rows(const T* x, tenon::detail::label_list label, std::int64_t first, T* loss, T* dx,
                                      std::int64_t rows, std::int64_t classes, waiting_lines& w) {
    row_sums<T> s;
    alignas(64) T at_label[tenon::detail::most_rows] = {};
    for (std::int64_t r = 0; r < rows; ++r) at_label[r] = x[r * classes + label[first + r]]; // dx may lie where x does
    if (dx) s.template find<exponentials::shares, true>(x, dx, rows, classes, w);
    else s.template find<exponentials::none, true>(x, nullptr, rows, classes, w);
    for (std::int64_t r = 0; r < rows; r += lanes) {
        const pack<T> sum = s.beside_largest(r), distance = load(at_label + r) - load(s.largest + r);
        const auto count = static_cast<int>(rows - r < lanes ? rows - r : lanes);
        if (loss) store_partial(loss + r, log(sum) - distance, count);
        store(at_label + r, (exp_below_one(distance) - sum) / sum);
    }
    for (std::int64_t r = 0; r < rows && dx; ++r) dx[r * classes + label[first + r]] = at_label[r];
}

/// loss[r] = sum over c of p[r, c] (ln(sum over k of e^x[r, k]) - x[r, c]), where p = 0 gives 0;
/// dx[r, c] = softmax(x)[r, c] (sum over k of p[r, k]) - p[r, c]. Either may be null.
template <class T>
inline void cross_entropy_rows(const T* x, const T* p, T* loss, T* dx, std::int64_t rows, std::int64_t classes,
                               waiting_lines& w) {
    const pack<T> zero = {};
    row_sums<T> s;
    if (dx) s.template find<exponentials::terms, true>(x, dx, rows, classes, w);
    else s.template find<exponentials::none, true>(x, nullptr, rows, classes, w);
    alignas(64) T logs[tenon::detail::most_rows];
    for (std::int64_t r = 0; r < rows; r += lanes) store(logs + r, log(s.beside_largest(r)));
    for (std::int64_t r = 0; r < rows; ++r) {
        const T *in = x + r * classes, *weight = p + r * classes;
        const pack<T> shift = broadcast<T>(s.largest[r]), rest = broadcast<T>(logs[r]);
        pack<T> losses = {}, weights = {};
        for_packs(classes, [&](std::int64_t i, auto count) TENON_ROWS_LAMBDA {
            __builtin_prefetch(weight + i + rows * classes);
            const pack<T> p_c = load_some(weight + i, count);
            const pack<T> d = rest - (load_some(in + i, count) - shift);
            losses = losses + select(p_c == zero, zero, p_c * d);
            weights = weights + p_c;
        });
        if (loss) loss[r] = reduce_add(losses);
        if (!dx) continue;
        T* out = dx + r * classes;
        const pack<T> scale = broadcast<T>(reduce_add(weights) / s.sum[r]); // both beside the same
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
