// Softmax along the middle of [outer, classes, inner]: read once per instruction set by rows.ipp.

namespace tenon::simd::TENON_SIMD_NS {

// Neighbouring columns together, so that memory is read in long pieces.

template <class F>
TENON_SIMD_INLINE void for_slices(std::int64_t columns, std::int64_t classes, std::int64_t inner, const F& f) {
    for (std::int64_t c = 0; c < classes; ++c)
        for_packs(columns, [&](std::int64_t i, auto n) TENON_ROWS_LAMBDA { f(i, c * inner + i, n); });
}

/// Packs of columns that are computed together: memory wants long pieces more than registers want few sums.
template <class T> inline constexpr int column_packs = 32 / static_cast<int>(sizeof(T));

/// What e^x / 2^k of columns, or x for logarithms, become shares of their sums by: t scale, or (t - largest) - scale.
template <class T> struct column_scales {
    static constexpr int line = 64 / sizeof(T), most = column_packs<T> * lanes;
    alignas(64) T scale[line + most], largest[line + most]; ///< the first `line` are of columns before
    exp_reference<T> near[column_packs<T>];

    template <bool Logarithm, class N> TENON_SIMD_INLINE pack<T> share(pack<T> t, std::int64_t i, N n) const {
        const pack<T> rest = load_some(scale + line + i, n);
        if constexpr (Logarithm) return (t - load_some(largest + line + i, n)) - rest;
        else return t * rest;
    }
    /// One pass over so many packs of columns, of which the last has n: beside powers of 2 near some of their elements; two more, beside the
    /// largest, where others are much larger or infinite. Calls before(c) once and stores terms of class c at to + c step, unless `to` is
    /// null.
    template <bool Logarithm, int Packs, class N, class Before>
    TENON_SIMD_INLINE void find(const T* x, T* to, std::int64_t step, std::int64_t classes, std::int64_t inner, N n,
                                const Before& before) {
        pack<T> sum[Packs], m[Packs];
        for (bool again = false;; again = true) {
            unrolled<Packs>([&](auto k)
                                TENON_ROWS_LAMBDA { m[k] = broadcast<T>(-std::numeric_limits<T>::infinity()); });
            for (std::int64_t j = 0; j < (again ? classes : 4); ++j) { // some of a column may be masked
                const T* const from = x + (again ? j : (classes - 1) * j / 3) * inner;
                unrolled<Packs>([&](auto k)
                                    TENON_ROWS_LAMBDA { m[k] = larger(m[k], load_filled(from + k * lanes, n)); });
            }
            unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA {
                near[k] = again ? exp_reference<T>::largest(m[k]) : exp_reference<T>::of(m[k]);
                sum[k] = pack<T>{};
            });
            for (std::int64_t c = 0; c < classes; ++c) {
                if (!again) before(c);
                unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA {
                    const T* const from = x + c * inner + k * lanes;
                    __builtin_prefetch(from + (Packs + 1) * lanes - 1); // its line begins with the last of these
                    const pack<T> a = load_filled(from, n), e = near[k].exp(a);
                    if (to) store_some(to + c * step + k * lanes, Logarithm ? a : e, n);
                    sum[k] = sum[k] + e;
                    if constexpr (Logarithm) m[k] = larger(m[k], a);
                });
            }
            bool all_near = true;
            unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA { all_near = are_near(sum[k]) && all_near; });
            if (all_near || again) [[likely]]
                break;
        }
        unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA {
            if constexpr (Logarithm) sum[k] = log(sum[k] / near[k].exp(m[k]));
            else sum[k] = broadcast<T>(1) / sum[k];
            store(scale + line + k * lanes, sum[k]);
            store(largest + line + k * lanes, m[k]);
        });
    }
};

/// All columns of a slice; y may be x, when terms are computed twice, since x may have to be read again. Lines that wait are written
/// meanwhile.
template <bool Logarithm, class T>
inline void softmax_columns(const T* x, T* y, std::int64_t columns, std::int64_t classes, std::int64_t inner,
                            waiting_lines& w) {
    column_scales<T> s;
    const bool twice = !Logarithm && x == y;
    const auto take = [&](std::int64_t i, auto packs, auto n) TENON_ROWS_LAMBDA {
        const auto write = [&](std::int64_t) TENON_ROWS_LAMBDA { write_packs<packs, T>(w); };
        s.template find<Logarithm, packs>(x + i, twice ? nullptr : y + i, inner, classes, inner, n, write);
        for (std::int64_t c = 0; c < classes; ++c)
            unrolled<packs>([&](auto k) TENON_ROWS_LAMBDA {
                T* const at = y + c * inner + i + k * lanes;
                pack<T> t = load_filled(at, n);
                if (twice) t = s.near[k].exp(t);
                store_some(at, s.template share<Logarithm>(t, k * lanes, n), n);
            });
    };
    constexpr int packs = column_packs<T>;
    std::int64_t i = 0;
    for (; i + packs * lanes <= columns; i += packs * lanes)
        take(i, std::integral_constant<int, packs>{}, std::integral_constant<int, lanes>{});
    for_packs(columns - i,
              [&](std::int64_t j, auto n) TENON_ROWS_LAMBDA { take(i + j, std::integral_constant<int, 1>{}, n); });
}
template <class T>
inline void softmax_slices(const T* x, T* y, std::int64_t slices, std::int64_t classes, std::int64_t inner,
                           bool logarithm, waiting_lines& w) {
    for (std::int64_t s = 0, at = 0; s < slices; ++s, at += classes * inner)
        if (logarithm) softmax_columns<true>(x + at, y + at, inner, classes, inner, w);
        else softmax_columns<false>(x + at, y + at, inner, classes, inner, w);
}

/// Columns of a slice in stripes, of which one is written past the caches while the next is computed: neither waits for the other. Lines
/// that two share are written with the second.
template <bool Logarithm, class T> class softmax_stripes {
    static constexpr int packs = column_packs<T>, width = packs * lanes, line = column_scales<T>::line,
                         pitch = line + width;

public:
    /// `terms` has room for classes times a line and `stripe_columns`.
    softmax_stripes(const T* x, T* y, std::int64_t classes, std::int64_t inner, T* terms) :
        x_(x), y_(y), terms_(terms), classes_(classes), inner_(inner) {}
    /// Columns begin .. end-1.
    void run(std::int64_t begin, std::int64_t end) {
        for (; begin + width <= end; begin += width) {
            column_scales<T>& next = s_ == scales_ ? scales_[1] : scales_[0];
            const auto write_before = [&](std::int64_t c) TENON_ROWS_LAMBDA {
                if (!waits_) return;
                const std::int64_t in = in_line(c);
                write(c, goes_on_ ? -in : 0, width - in);
                copy_line(terms_ + c * pitch + width, terms_ + c * pitch);
            };
            next.template find<Logarithm, packs>(x_ + begin, terms_ + line, pitch, classes_, inner_,
                                                 std::integral_constant<int, lanes>{}, write_before);
            copy_line(s_->scale + width, next.scale);
            copy_line(s_->largest + width, next.largest);
            s_ = &next;
            first_ = begin;
            goes_on_ = waits_;
            waits_ = true;
        }
        for (std::int64_t c = 0; c < classes_ && waits_; ++c) write(c, goes_on_ ? -in_line(c) : 0, width);
        waiting_lines none;
        softmax_columns<Logarithm>(x_ + begin, y_ + begin, end - begin, classes_, inner_, none);
    }

private:
    // Elements of the stripe's first line of class c that lie before the stripe.
    TENON_SIMD_INLINE std::int64_t in_line(std::int64_t c) const {
        return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(y_ + c * inner_ + first_) % 64 / sizeof(T));
    }
    // Writes columns i .. end-1 of the stripe, of class c.
    TENON_SIMD_INLINE void write(std::int64_t c, std::int64_t i, std::int64_t end) const {
        T* const to = y_ + c * inner_ + first_;
        const T* const from = terms_ + c * pitch + line;
        const auto share = [&](std::int64_t at, auto n) TENON_ROWS_LAMBDA {
            return s_->template share<Logarithm>(load_some(from + at, n), at, n);
        };
        const auto write_some = [&](std::int64_t count) TENON_ROWS_LAMBDA {
            for_packs(count,
                      [&](std::int64_t k, auto n) TENON_ROWS_LAMBDA { store_some(to + i + k, share(i + k, n), n); });
            i += count;
        };
        constexpr int step = line > lanes ? line : lanes;
        if (const std::int64_t head = -(in_line(c) + i) & (line - 1); head != 0) write_some(std::min(head, end - i));
        for (; i + step <= end; i += step)
            unrolled<step / lanes>([&](auto k) TENON_ROWS_LAMBDA {
                const std::int64_t at = i + k * lanes;
                store_past_caches(to + at, share(at, std::integral_constant<int, lanes>{}));
            });
        if (i < end) write_some(end - i);
    }
    TENON_SIMD_INLINE static void copy_line(const T* from, T* to) { __builtin_memcpy(to, from, line * sizeof(T)); }

    const T* x_;
    T *y_, *terms_; // of each class a line of the stripe before, then the stripe
    std::int64_t classes_, inner_;
    column_scales<T> scales_[2];
    column_scales<T>* s_ = scales_;
    std::int64_t first_ = 0;               // column of the stripe that is computed
    bool waits_ = false, goes_on_ = false; // to be written; with what lies in its first line before it
};

/// Columns begin .. end-1 of a slice; in stripes where there are `terms`.
template <class T>
inline void softmax_piece(const T* x, T* y, std::int64_t begin, std::int64_t end, std::int64_t classes,
                          std::int64_t inner, bool logarithm, T* terms) {
    waiting_lines none;
    if (terms && logarithm) softmax_stripes<true, T>(x, y, classes, inner, terms).run(begin, end);
    else if (terms) softmax_stripes<false, T>(x, y, classes, inner, terms).run(begin, end);
    else if (logarithm) softmax_columns<true>(x + begin, y + begin, end - begin, classes, inner, none);
    else softmax_columns<false>(x + begin, y + begin, end - begin, classes, inner, none);
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

} // namespace tenon::simd::TENON_SIMD_NS
