// The loops of reductions, once per instruction set. How says how two elements are combined; C is the type of
// the elements: float, double, int32 or int64. Others are converted to one of these first, block by block.

namespace tenon::simd::TENON_SIMD_NS {

template <reducing::combination How, class C> TENON_SIMD_INLINE pack<C> combined(pack<C> a, pack<C> b) {
    if constexpr (How == reducing::combination::sum) return a + b;
    else if constexpr (How == reducing::combination::product) return a * b;
    else if constexpr (How == reducing::combination::least) return min(a, b);
    else return max(a, b);
}

/// Lane k of the result: that of lanes k and k ^ D which has bit D clear (`Upper`: set), of x where k has it clear, else of y.
template <int D, bool Upper, class V, std::size_t... K>
TENON_SIMD_INLINE V interleave_lanes(V x, V y, std::index_sequence<K...>) {
    constexpr int n = static_cast<int>(sizeof...(K));
    constexpr auto from = [](int k) { return ((k & D) != 0 ? n : 0) + (Upper ? k | D : k & ~D); };
    return __builtin_shufflevector(x, y, from(static_cast<int>(K))...);
}

/// Packs a and b, each folded at distance D, side by side: of two lanes the lower one comes first, wherever a row lies.
template <reducing::combination How, int D, class C> TENON_SIMD_INLINE pack<C> fold_two(pack<C> a, pack<C> b) {
    constexpr int n = pack<C>::part_lanes;
    if constexpr (D == n) {
        return combined<How>(pack<C>{{a.v[0], b.v[0]}}, pack<C>{{a.v[1], b.v[1]}});
    } else {
        using lanes_of_part = std::make_index_sequence<static_cast<std::size_t>(n)>;
        pack<C> x, y;
        for (int p = 0; p < pack<C>::parts; ++p) {
            x.v[p] = interleave_lanes<D, false>(a.v[p], b.v[p], lanes_of_part{});
            y.v[p] = interleave_lanes<D, true>(a.v[p], b.v[p], lanes_of_part{});
        }
        return combined<How>(x, y);
    }
}

/// Lane k of rows[0] becomes what all lanes of rows[k] combine to, for k < 2 * D.
template <reducing::combination How, int D, class C> TENON_SIMD_INLINE void fold_all(pack<C>* rows) {
    if constexpr (D > 0) {
        for (int i = 0; i < D; ++i) rows[i] = fold_two<How, D>(rows[i], rows[i + D]);
        fold_all<How, D / 2>(rows);
    }
}
template <reducing::combination How, int D, class C> TENON_SIMD_INLINE pack<C> fold_one(pack<C> a) {
    if constexpr (D == 0) return a;
    else return fold_one<How, D / 2>(fold_two<How, D>(a, a));
}

/// The last `left` lanes of a row, 0 < left < lanes; the others leave everything unchanged. With `past`,
/// memory up to the end of a whole pack may be read, which is faster than a masked load.
template <reducing::combination How, class C> TENON_SIMD_INLINE pack<C> last_lanes(const C* x, int left, bool past) {
    const pack<bool> inside = iota<std::int32_t>() < broadcast<std::int32_t>(left);
    return select(inside, past ? load(x) : load_partial(x, left), broadcast<C>(reducing::identity_of<How, C>()));
}

template <reducing::mapping M, class C> TENON_SIMD_INLINE pack<C> mapped(pack<C> v, [[maybe_unused]] pack<C> p) {
    if constexpr (M == reducing::mapping::square) return v * v;
    else if constexpr (M == reducing::mapping::magnitude) return abs(v);
    else if constexpr (M == reducing::mapping::squared_deviation) return (v - p) * (v - p);
    else if constexpr (M == reducing::mapping::shifted_exp) return exp(v - p);
    else if constexpr (M == reducing::mapping::none) return v;
    else if constexpr (std::is_integral_v<C>) return ~v; // turns the order around, like -v, without overflow
    else return -v;
}

/// One row of n elements, mapped and combined lane by lane. A second pass fetches what lies `ahead` of it, which a first one is then given.
template <reducing::combination How, reducing::mapping M, class C>
TENON_SIMD_INLINE pack<C> combine_long_row(const C* x, std::int64_t n, pack<C> p,
                                           [[maybe_unused]] std::int64_t ahead = 0) {
    constexpr bool is_second = M == reducing::mapping::shifted_exp || M == reducing::mapping::squared_deviation;
    const pack<C> none = broadcast<C>(reducing::identity_of<How, C>());
    pack<C> a[8];
    for (int k = 0; k < 8; ++k) a[k] = none;
    std::int64_t i = 0;
    for (; i + 8 * lanes <= n; i += 8 * lanes) {
        if constexpr (is_second) fetch_packs<8>(x + i + ahead);
#pragma GCC unroll 8
        for (int k = 0; k < 8; ++k) a[k] = combined<How>(a[k], mapped<M>(load(x + i + k * lanes), p));
    }
    for (; i + lanes <= n; i += lanes) a[0] = combined<How>(a[0], mapped<M>(load(x + i), p));
    if (i < n) {
        const int left = static_cast<int>(n - i);
        const pack<bool> inside = iota<std::int32_t>() < broadcast<std::int32_t>(left);
        a[1] = combined<How>(a[1], select(inside, mapped<M>(load_tail(x + i, left), p), none));
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) a[k] = combined<How>(a[k], a[k + 4]);
    return combined<How>(combined<How>(a[0], a[2]), combined<How>(a[1], a[3]));
}

/// Elements First, First + 2, ... of the concatenation of x and y.
template <int First, class V, std::size_t... K> TENON_SIMD_INLINE V every_second(V x, V y, std::index_sequence<K...>) {
#if defined(__clang__)
    return __builtin_shufflevector(x, y, (static_cast<int>(2 * K) + First)...);
#else
    using index = simd::detail::signed_t<std::remove_cvref_t<decltype(x[0])>>;
    typedef index indices __attribute__((vector_size(sizeof(V))));
    return __builtin_shuffle(x, y, indices{static_cast<index>(static_cast<int>(2 * K) + First)...});
#endif
}
/// Neighbours of the concatenation of a and b, combined.
template <reducing::combination How, class C> TENON_SIMD_INLINE pack<C> combine_neighbours(pack<C> a, pack<C> b) {
    constexpr std::make_index_sequence<static_cast<std::size_t>(pack<C>::part_lanes)> k{};
    if constexpr (pack<C>::parts == 1)
        return combined<How>(pack<C>{{every_second<0>(a.v[0], b.v[0], k)}},
                             pack<C>{{every_second<1>(a.v[0], b.v[0], k)}});
    else
        return combined<How>(pack<C>{{every_second<0>(a.v[0], a.v[1], k), every_second<0>(b.v[0], b.v[1], k)}},
                             pack<C>{{every_second<1>(a.v[0], a.v[1], k), every_second<1>(b.v[0], b.v[1], k)}});
}
/// `lanes` rows of N elements, N a power of two.
template <reducing::combination How, int N, class C> TENON_SIMD_INLINE pack<C> combine_short_rows(const C* x) {
    if constexpr (N == 1) return load(x);
    else
        return combine_neighbours<How>(combine_short_rows<How, N / 2>(x),
                                       combine_short_rows<How, N / 2>(x + N / 2 * lanes));
}
template <reducing::combination How, int N, class C>
TENON_SIMD_INLINE std::int64_t reduce_short_rows(const C* x, std::int64_t count, C* out) {
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) store(out + i, combine_short_rows<How, N>(x + i * N));
    if (i < count) {
        alignas(64) C last[N * lanes]{};
        __builtin_memcpy(last, x + i * N, static_cast<std::size_t>(count - i) * N * sizeof(C));
        store_partial(out + i, combine_short_rows<How, N>(static_cast<const C*>(last)), static_cast<int>(count - i));
    }
    return count;
}

/// Rows of few elements that are reduced side by side: all, or none. A row's order is the same wherever it lies.
template <reducing::combination How, class C>
TENON_SIMD_INLINE std::int64_t reduce_medium_rows(const C* x, std::int64_t count, std::int64_t n, C* out) {
    std::int64_t i = 0;
    if (n == 2) i = reduce_short_rows<How, 2>(x, count, out);
    else if (n == 4) i = reduce_short_rows<How, 4>(x, count, out);
    else if (n == 8) i = reduce_short_rows<How, 8>(x, count, out);
    else if (n >= 8 && n <= 16 * lanes) {
        const int left = static_cast<int>(n % lanes);
        const std::int64_t whole = n - left;
        // The last rows must not be read past their end.
        const std::int64_t safe = count - (left == 0 ? 0 : (lanes + n - 1) / n);
        const auto combine_row = [&](std::int64_t r, bool past) {
            const C* row = x + r * n;
            pack<C> sum =
                left == 0 ? broadcast<C>(reducing::identity_of<How, C>()) : last_lanes<How>(row + whole, left, past);
            for (std::int64_t j = 0; j < whole; j += lanes) sum = combined<How>(sum, load(row + j));
            return sum;
        };
        for (; i + lanes <= count; i += lanes) {
            pack<C> rows[lanes];
            const bool past = i + lanes <= safe;
            for (int k = 0; k < lanes; ++k) rows[k] = combine_row(i + k, past);
            fold_all<How, lanes / 2>(rows);
            store(out + i, rows[0]);
        }
        for (; i < count; ++i) out[i] = fold_one<How, lanes / 2>(combine_row(i, false)).v[0][0];
    }
    return i;
}

/// out[i] = elements x[i * n] .. x[i * n + n - 1] combined, for i < count.
template <reducing::combination How, class C> void reduce_rows(const C* x, std::int64_t count, std::int64_t n, C* out) {
    std::int64_t i = 0;
    if (n > 0 && n < 8 && !(std::is_floating_point_v<C> && (n == 2 || n == 4))) {
        for (; i < count; ++i) {
            C sum = x[i * n];
            for (std::int64_t j = 1; j < n; ++j) sum = reducing::combine_two<How>(sum, x[i * n + j]);
            out[i] = sum;
        }
    } else if constexpr (std::is_floating_point_v<C>) {
        // Integers are reduced less often than this takes to compile.
        i = reduce_medium_rows<How>(x, count, n, out);
    }
    for (; i < count; ++i)
        out[i] =
            fold_one<How, lanes / 2>(combine_long_row<How, reducing::mapping::none>(x + i * n, n, pack<C>{})).v[0][0];
}

/// `Packs` packs of columns of a block that lies in cache, or the first `width` of one pack.
template <reducing::combination How, int Packs, class C>
TENON_SIMD_INLINE void reduce_some_columns(const C* x, std::int64_t rows, std::int64_t stride, int width, C* out) {
    const pack<C> none = broadcast<C>(reducing::identity_of<How, C>());
    pack<C> total[Packs];
    for (int k = 0; k < Packs; ++k) total[k] = none;
    for (std::int64_t r = 0; r < rows;) {
        // Sums of at most 64 rows are added up: the error grows with rows / 64, not with rows.
        const std::int64_t end = rows - r > 64 ? r + 64 : rows;
        pack<C> sum[Packs];
        for (int k = 0; k < Packs; ++k) sum[k] = none;
        for (; r < end; ++r)
#pragma GCC unroll 8
            for (int k = 0; k < Packs; ++k) {
                const C* at = x + r * stride + k * lanes;
                sum[k] = combined<How>(sum[k], Packs == 1 && width < lanes ? load_partial(at, width) : load(at));
            }
        for (int k = 0; k < Packs; ++k) total[k] = combined<How>(total[k], sum[k]);
    }
    for (int k = 0; k < Packs; ++k) {
        if (Packs == 1 && width < lanes) store_partial(out, total[k], width);
        else store(out + k * lanes, total[k]);
    }
}

/// The packs at x, x + stride, .. of Rows rows, combined.
template <reducing::combination How, int Rows, class C>
TENON_SIMD_INLINE pack<C> combine_rows(const C* x, std::int64_t stride) {
    if constexpr (Rows == 1) return load(x);
    else
        return combined<How>(combine_rows<How, Rows / 2>(x, stride),
                             combine_rows<How, Rows / 2>(x + Rows / 2 * stride, stride));
}
/// out[j], j < width, combined with Rows rows.
template <reducing::combination How, int Rows, class C>
TENON_SIMD_INLINE void add_rows(const C* x, std::int64_t stride, std::int64_t width, C* out) {
    for (std::int64_t j = 0; j < width; j += lanes)
        store(out + j, combined<How>(load(static_cast<const C*>(out + j)), combine_rows<How, Rows>(x + j, stride)));
}

/// out[j] = elements x[r * stride + j], r < rows, combined, for j < width.
template <reducing::combination How, class C>
void reduce_columns(const C* x, std::int64_t rows, std::int64_t stride, std::int64_t width, C* out) {
    std::int64_t j = 0;
    if (std::is_floating_point_v<C> && (width <= 8 * lanes || rows < 4)) {
        if constexpr (std::is_floating_point_v<C>) {
            for (; j + 8 * lanes <= width; j += 8 * lanes)
                reduce_some_columns<How, 8>(x + j, rows, stride, 8 * lanes, out + j);
            for (; j + 4 * lanes <= width; j += 4 * lanes)
                reduce_some_columns<How, 4>(x + j, rows, stride, 4 * lanes, out + j);
        }
    } else {
        const std::int64_t whole = width - width % lanes;
        for (; j < whole; j += lanes) store(out + j, broadcast<C>(reducing::identity_of<How, C>()));
        std::int64_t r = 0;
        // Short rows one after the other, so that memory is read straight through. Long ones are streams of
        // their own.
        if constexpr (std::is_floating_point_v<C>)
            if (whole * static_cast<std::int64_t>(sizeof(C)) >= 4096)
                for (; r + 8 <= rows; r += 8) add_rows<How, 8>(x + r * stride, stride, whole, out);
        for (; r < rows; ++r) add_rows<How, 1>(x + r * stride, stride, whole, out);
        j = whole;
    }
    for (; j < width; j += lanes)
        reduce_some_columns<How, 1>(x + j, rows, stride, static_cast<int>(width - j < lanes ? width - j : lanes),
                                    out + j);
}

/// sums[j] combined with x[j], in a wider type; or just set, when they are `fresh`.
template <reducing::combination How, class C>
void widen_columns(const C* x, reducing::wide_t<C>* sums, std::int64_t n, bool fresh) {
    using W = reducing::wide_t<C>;
    for (std::int64_t j = 0; j < n; j += lanes) {
        const int left = static_cast<int>(n - j < lanes ? n - j : lanes);
        pack<W> v = convert<W>(left == lanes ? load(x + j) : load_partial(x + j, left));
        if (!fresh)
            v = combined<How>(left == lanes ? load(static_cast<const W*>(sums + j))
                                            : load_partial(static_cast<const W*>(sums + j), left),
                              v);
        if (left == lanes) store(sums + j, v);
        else store_partial(sums + j, v, left);
    }
}

/// n elements of type T as C.
template <class T, class C> void read_block(const void* from, C* to, std::int64_t n) {
    const T* x = static_cast<const T*>(from);
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(to + i, convert<C>(load(x + i)));
    if (i < n) {
        const int left = static_cast<int>(n - i);
        store_partial(to + i, convert<C>(load_partial(x + i, left)), left);
    }
}
/// 1 for what is not zero.
template <class T, class C> void read_nonzero(const void* from, C* to, std::int64_t n) {
    const T* x = static_cast<const T*>(from);
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(to + i, convert<C>(load(x + i) != pack<compute_t<T>>{}));
    for (; i < n; ++i) to[i] = static_cast<compute_t<T>>(x[i]) != compute_t<T>{} ? C{1} : C{};
}

/// Unsigned numbers as signed ones of the same order.
inline void read_ordered(const void* from, std::int64_t* to, std::int64_t n) {
    const std::uint64_t* x = static_cast<const std::uint64_t*>(from);
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<std::int64_t>(x[i] ^ (std::uint64_t{1} << 63));
}

/// What is done to elements before they are combined; `parameter` has one for all (step 0) or one for each
/// (step 1).
template <reducing::mapping M, class C>
void map_block(const C* x, C* to, std::int64_t n, const C* parameter, std::int64_t step) {
    pack<C> p = broadcast<C>(*parameter);
    std::int64_t i = 0;
    if (step == 0) {
        for (; i + lanes <= n; i += lanes) store(to + i, mapped<M>(load(x + i), p));
    } else {
        for (; i + lanes <= n; i += lanes) store(to + i, mapped<M>(load(x + i), load(parameter + i)));
    }
    if (i == n) return;
    const int left = static_cast<int>(n - i);
    if (step != 0) p = load_tail(parameter + i, left);
    store_partial(to + i, mapped<M>(load_tail(x + i, left), p), left);
}

/// As reduce_rows, of mapped elements; a parameter for each row.
template <reducing::mapping M, reducing::combination How, class C>
void map_rows(const C* x, std::int64_t count, std::int64_t n, const C* parameter, C* out) {
    for (std::int64_t i = 0; i < count; ++i) {
        const pack<C> p = broadcast<C>(parameter ? parameter[i] : C{});
        out[i] = fold_one<How, lanes / 2>(combine_long_row<How, M>(x + i * n, n, p, count * n)).v[0][0];
    }
}

/// Sums of e^(x - shift), lane by lane. A shift is at least the largest x so far less 1, and moves a few times in a row of many elements; it
/// is finite, so that -inf adds 0 and inf gives inf.
template <class C> struct running_exponentials {
    static constexpr C most = std::numeric_limits<C>::max();
    pack<C> shift, limit, sums[4];

    /// Of the last pack of a row, `count` elements.
    template <int Packs, class N> TENON_SIMD_INLINE void take(const pack<C>* x, N count) {
        pack<C> top = x[0]; // where that is NaN so is the sum
        unrolled<Packs>([&](auto k) TENON_ROWS_LAMBDA { top = larger(x[k], top); });
        if (any(top > limit)) [[unlikely]] {
            const pack<C> to = min(larger(top, shift), broadcast<C>(most)), factor = exp(shift - to);
            unrolled<4>([&](auto k) TENON_ROWS_LAMBDA { sums[k] = sums[k] * factor; });
            shift = to;
            limit = to + broadcast<C>(1);
        }
        unrolled<Packs>(
            [&](auto k) TENON_ROWS_LAMBDA { sums[k % 4] = sums[k % 4] + keep_some(exp(x[k] - shift), count, C(0)); });
    }
};

/// Of each row the sum of e^(x - shift), with a shift that is near the largest element.
template <class C> void exponential_rows(const C* x, std::int64_t count, std::int64_t n, C* shifts, C* sums) {
    for (std::int64_t r = 0; r < count; ++r, x += n) {
        const pack<C> none = broadcast<C>(-running_exponentials<C>::most);
        running_exponentials<C> all{none, none, {}};
        std::int64_t i = 0;
        for (; i + 8 * lanes <= n; i += 8 * lanes) {
            pack<C> v[8];
            fetch_packs<8>(x + i + 4096 / sizeof(C)); // beyond the page too
            unrolled<8>([&](auto k) TENON_ROWS_LAMBDA { v[k] = load(x + i + k * lanes); });
            all.template take<8>(v, std::integral_constant<int, lanes>{});
        }
        for_packs(n - i, [&](std::int64_t j, auto left) TENON_ROWS_LAMBDA {
            const pack<C> v = load_filled(x + i + j, left);
            all.template take<1>(&v, left);
        });
        shifts[r] = combine_all<combine_larger, 1>(&all.shift).v[0][0];
        const pack<C> sum = (all.sums[0] + all.sums[1]) + (all.sums[2] + all.sums[3]);
        sums[r] = reduce_add(sum * exp(all.shift - broadcast<C>(shifts[r])));
    }
}
template <class C> reducing::exponential_loop<C> exponential_loop_of() { return &exponential_rows<C>; }

/// out[j] = elements x[r * stride + j], r < rows, mapped and combined, for j < width; a parameter for each
/// column.
template <reducing::mapping M, reducing::combination How, class C>
void map_columns(const C* x, std::int64_t rows, std::int64_t stride, std::int64_t width, const C* parameter, C* out) {
    const std::int64_t whole = width - width % lanes;
    const int left = static_cast<int>(width - whole);
    const pack<C> none = broadcast<C>(reducing::identity_of<How, C>());
    pack<C> last = none;
    for (std::int64_t j = 0; j < whole; j += lanes) store(out + j, none);
    for (std::int64_t r = 0; r < rows; ++r, x += stride) {
        for (std::int64_t j = 0; j < whole; j += lanes) {
            const pack<C> p = parameter ? load(parameter + j) : pack<C>{};
            store(out + j, combined<How>(load(static_cast<const C*>(out + j)), mapped<M>(load(x + j), p)));
        }
        if (left > 0) {
            const pack<C> p = parameter ? load_tail(parameter + whole, left) : pack<C>{};
            last = combined<How>(last, mapped<M>(load_tail(x + whole, left), p));
        }
    }
    if (left > 0) store_partial(out + whole, last, left);
}

/// Bit k: lane k of x and y is the same, NaN like NaN.
template <class C> TENON_SIMD_INLINE unsigned same_bits(pack<C> x, pack<C> y) {
    if constexpr (std::is_floating_point_v<C>) return mask_bits((x == y) | ((x != x) & (y != y)));
    else return mask_bits(x == y);
}

/// Where `value`, which is one of them, comes first among n elements.
template <class C> std::int64_t position_of(const C* x, std::int64_t n, C value) {
    const pack<C> wanted = broadcast<C>(value);
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
        if (const unsigned hits = same_bits(load(x + i), wanted); hits != 0) return i + __builtin_ctz(hits);
    return i + __builtin_ctz(same_bits(load_partial(x + i, static_cast<int>(n - i)), wanted));
}

/// Largest element so far of each column, and its row, improved by rows numbered from `number`.
template <class C>
void improve_columns(const C* x, std::int64_t rows, std::int64_t stride, std::int64_t width, std::int64_t number,
                     C* values, std::int64_t* positions) {
    for (std::int64_t j = 0; j < width; j += lanes) {
        const int n = static_cast<int>(width - j < lanes ? width - j : lanes);
        pack<C> best = load_partial(values + j, n);
        pack<std::int64_t> at = load_partial(positions + j, n);
        for (std::int64_t r = 0; r < rows; ++r) {
            const pack<C> v = n == lanes ? load(x + r * stride + j) : load_partial(x + r * stride + j, n);
            pack<bool> better = v > best;
            if constexpr (std::is_floating_point_v<C>) better = better | ((v != v) & (best == best));
            best = select(better, v, best);
            at = select(better, broadcast<std::int64_t>(number + r), at);
        }
        store_partial(values + j, best, n);
        store_partial(positions + j, at, n);
    }
}

template <reducing::combination How, class C> reducing::reduction_loops<C> loops_of_combination() {
    return {&reduce_rows<How, C>, &reduce_columns<How, C>, &widen_columns<How, C>, lanes};
}
template <class C> reducing::reduction_loops<C> reduction_loops_of(reducing::combination how) {
    using reducing::combination;
    switch (how) {
    case combination::least: return loops_of_combination<combination::least, C>();
    case combination::largest: return loops_of_combination<combination::largest, C>();
    default: return loops_of_combination<combination::sum, C>();
    }
}
template <class C> reducing::reduction_loops<C> product_loops_of() {
    return loops_of_combination<reducing::combination::product, C>();
}

template <class C> reducing::search_loops<C> search_loops_of() { return {&position_of<C>, &improve_columns<C>}; }

/// How elements of a type are read as C; nullptr where they are C already.
template <class C> reducing::block_reader<C> block_reader_of(element_type e, [[maybe_unused]] reducing::reading how) {
    if constexpr (std::is_same_v<C, float>) {
        if (e == element_type::float16) return &read_block<half, float>;
        if (e == element_type::bfloat16) return &read_block<bfloat16, float>;
    } else if constexpr (std::is_same_v<C, std::int64_t>) {
        if (e == element_type::uint32) return &read_block<std::uint32_t, std::int64_t>;
        if (e == element_type::uint64 && how == reducing::reading::ordered) return &read_ordered;
    } else if constexpr (std::is_same_v<C, std::int32_t>) {
        if (how == reducing::reading::nonzero) {
            if (e == element_type::float32) return &read_nonzero<float, C>;
            if (e == element_type::float64) return &read_nonzero<double, C>;
            if (e == element_type::float16) return &read_nonzero<half, C>;
            if (e == element_type::bfloat16) return &read_nonzero<bfloat16, C>;
            switch (size_of(e)) { // whether all bits are 0 is all that counts
            case 1: return &read_nonzero<std::uint8_t, C>;
            case 2: return &read_nonzero<std::uint16_t, C>;
            case 4: return &read_nonzero<std::uint32_t, C>;
            default: return &read_nonzero<std::uint64_t, C>;
            }
        }
        switch (e) {
        case element_type::int8: return &read_block<std::int8_t, C>;
        case element_type::uint8:
        case element_type::boolean: return &read_block<std::uint8_t, C>;
        case element_type::int16: return &read_block<std::int16_t, C>;
        case element_type::uint16: return &read_block<std::uint16_t, C>;
        default: break;
        }
    }
    return nullptr;
}

template <class C> reducing::block_mapper<C> block_mapper_of(reducing::mapping m) {
    using reducing::mapping;
    if constexpr (std::is_floating_point_v<C>) {
        switch (m) {
        case mapping::square: return &map_block<mapping::square, C>;
        case mapping::magnitude: return &map_block<mapping::magnitude, C>;
        case mapping::squared_deviation: return &map_block<mapping::squared_deviation, C>;
        case mapping::shifted_exp: return &map_block<mapping::shifted_exp, C>;
        default: break;
        }
    }
    return m == mapping::reversed ? &map_block<mapping::reversed, C> : nullptr;
}

template <class C, reducing::mapping M, reducing::combination How> reducing::mapped_loops<C> mapped_loops_for() {
    return {&map_rows<M, How, C>, &map_columns<M, How, C>};
}
/// Loops that map and combine in one go; null where there are none.
template <class C> reducing::mapped_loops<C> mapped_loops_of(reducing::mapping m, reducing::combination how) {
    using reducing::mapping, reducing::combination;
    if constexpr (std::is_floating_point_v<C>) {
        if (how == combination::largest && m == mapping::magnitude)
            return mapped_loops_for<C, mapping::magnitude, combination::largest>();
        if (how != combination::sum) return {};
        switch (m) {
        case mapping::square: return mapped_loops_for<C, mapping::square, combination::sum>();
        case mapping::magnitude: return mapped_loops_for<C, mapping::magnitude, combination::sum>();
        case mapping::squared_deviation: return mapped_loops_for<C, mapping::squared_deviation, combination::sum>();
        case mapping::shifted_exp: return mapped_loops_for<C, mapping::shifted_exp, combination::sum>();
        default: break;
        }
    }
    return {};
}

} // namespace tenon::simd::TENON_SIMD_NS
