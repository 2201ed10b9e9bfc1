// Attention, a block of queries at a time: read once per instruction set by attention_blocks.ipp. A block's matrices have `width`
// queries in lanes (those beyond the last are of zeros), so scores are [keys, width].

namespace tenon::simd::TENON_SIMD_NS {

// Packs of a result, and rows of so many, that stay in registers.
template <class T> inline constexpr int tile_packs = (TENON_SIMD_LEVEL == 2 ? 4 : 2) / pack<T>::parts;
template <class T, int Packs> inline constexpr int tile_rows = Packs * 2 > tile_packs<T> ? 6 : 12;

template <std::size_t... K, class F> TENON_SIMD_INLINE void each_of(std::index_sequence<K...>, const F& f) {
    (f(std::integral_constant<int, static_cast<int>(K)>{}), ...);
}
template <int N, class F> TENON_SIMD_INLINE void times(const F& f) {
    each_of(std::make_index_sequence<static_cast<std::size_t>(N)>{}, f);
}

/// A matrix whose element [i, l] lies at data[i * down + l * right].
template <class T> struct strided {
    const T* data;
    std::int64_t down, right;
};

/// Rows i .. i + Rows - 1 of product(), in Packs packs from b and c on, of which the last has `last` elements.
template <class T, int Rows, int Packs, class N>
TENON_SIMD_INLINE void product_tile(const strided<T>& a, const T* b, std::int64_t b_down, T* c, std::int64_t c_down,
                                    std::int64_t k, bool add, N last) {
    pack<T> sums[Rows][Packs] = {};
    const T* from = a.data;
    for (std::int64_t l = 0; l < k; ++l, from += a.right, b += b_down) {
        pack<T> right[Packs];
        times<Packs>([&](auto p) TENON_ROWS_LAMBDA {
            if constexpr (p == Packs - 1) right[p] = load_some(b + p * lanes, last);
            else right[p] = load(b + p * lanes);
        });
        times<Rows>([&](auto r) TENON_ROWS_LAMBDA {
            const pack<T> left = broadcast<T>(from[r * a.down]);
            times<Packs>([&](auto p) TENON_ROWS_LAMBDA { sums[r][p] = fma(left, right[p], sums[r][p]); });
        });
    }
    times<Rows>([&](auto r) TENON_ROWS_LAMBDA {
        times<Packs>([&](auto p) TENON_ROWS_LAMBDA {
            T* const to = c + r * c_down + p * lanes;
            if constexpr (p == Packs - 1) store_some(to, add ? load_some(to, last) + sums[r][p] : sums[r][p], last);
            else store(to, add ? load(to) + sums[r][p] : sums[r][p]);
        });
    });
}
template <class T, int Packs, class N>
TENON_SIMD_INLINE void product_columns(strided<T> a, const T* b, std::int64_t b_down, T* c, std::int64_t c_down,
                                       std::int64_t m, std::int64_t k, bool add, N last) {
    const auto some = [&](auto rows) TENON_ROWS_LAMBDA {
        for (; m >= rows; m -= rows, a.data += rows * a.down, c += rows * c_down)
            product_tile<T, rows, Packs>(a, b, b_down, c, c_down, k, add, last);
    };
    some(std::integral_constant<int, tile_rows<T, Packs>>{});
    some(std::integral_constant<int, 4>{});
    some(std::integral_constant<int, 1>{});
}
/// c = a b, or c + a b: m rows of n elements, which are sums of k products, in this order.
template <class T>
inline void product(const strided<T>& a, const T* b, std::int64_t b_down, T* c, std::int64_t c_down, std::int64_t m,
                    std::int64_t n, std::int64_t k, bool add) {
    constexpr std::integral_constant<int, lanes> whole{};
    constexpr int most = tile_packs<T>, half = most > 2 ? most / 2 : most;
    std::int64_t j = 0;
    for (; j + most * lanes <= n; j += most * lanes)
        product_columns<T, most>(a, b + j, b_down, c + j, c_down, m, k, add, whole);
    for (; j + half * lanes <= n; j += half * lanes)
        product_columns<T, half>(a, b + j, b_down, c + j, c_down, m, k, add, whole);
    for (; j + lanes <= n; j += lanes) product_columns<T, 1>(a, b + j, b_down, c + j, c_down, m, k, add, whole);
    if (j < n) product_columns<T, 1>(a, b + j, b_down, c + j, c_down, m, k, add, static_cast<int>(n - j));
}

/// to[l, i] = from[i, l] * factor, i < rows; 0 for i up to `width`.
template <class T>
inline void take_transposed(const T* from, std::int64_t step, std::int64_t rows, std::int64_t columns, T* to,
                            std::int64_t width, T factor) {
    if (rows < width)
        for (std::int64_t i = 0; i < columns * width; ++i) to[i] = 0;
    tenon::detail::transpose_matrix(from, step, to, width, rows, columns);
    if (factor != 1)
        for (std::int64_t i = 0; i < columns * width; i += lanes) store(to + i, load(to + i) * broadcast<T>(factor));
}

/// Queries in lanes beside keys of a block: key number j is that of query `ahead` + j, and queries before it do not see it.
struct causal_lanes {
    bool causal;
    std::int64_t ahead;
    /// So many keys are seen by all queries in the lanes from q on.
    std::int64_t seen_by_all(std::int64_t q, std::int64_t keys) const {
        const std::int64_t n = q - ahead + 1;
        return !causal || n > keys ? keys : n > 0 ? n : 0;
    }
    /// Who sees key j of those after.
    TENON_SIMD_INLINE pack<bool> seen(std::int64_t q, std::int64_t j) const {
        const std::int64_t from = ahead + j - q;
        return iota<std::int32_t>() >= broadcast<std::int32_t>(static_cast<std::int32_t>(from < lanes ? from : lanes));
    }
};

/// Scores become e^(score - largest), in place, with the largest of each query so far; its sum of these is brought up to date, and
/// factors has what was summed before must be multiplied with.
template <class T>
inline void exponentiate(T* scores, std::int64_t keys, std::int64_t width, const causal_lanes& c, T* largest, T* sums,
                         T* factors) {
    const pack<T> lowest = broadcast<T>(-std::numeric_limits<T>::infinity());
    for (std::int64_t q = 0; q < width; q += lanes) {
        T* const x = scores + q;
        const std::int64_t all = c.seen_by_all(q, keys);
        pack<T> most[2] = {load(largest + q), lowest};
        for (std::int64_t j = 0; j < all; ++j) most[j & 1] = larger(most[j & 1], load(x + j * width));
        for (std::int64_t j = all; j < keys; ++j)
            most[0] = larger(most[0], select(c.seen(q, j), load(x + j * width), lowest));
        const pack<T> m = larger(most[0], most[1]);
        const pack<T> base = select(m == lowest, pack<T>{}, m); // where there is nothing but -inf yet, e^x is 0
        const pack<T> factor = exp_below_one(load(largest + q) - base);
        pack<T> sum = load(sums + q) * factor;
        for (std::int64_t j = 0; j < all; ++j) {
            const pack<T> e = exp_below_one(load(x + j * width) - base);
            store(x + j * width, e);
            sum = sum + e;
        }
        for (std::int64_t j = all; j < keys; ++j) {
            const pack<bool> seen = c.seen(q, j);
            const pack<T> e = select(seen, exp_below_one(select(seen, load(x + j * width), base) - base), pack<T>{});
            store(x + j * width, e);
            sum = sum + e;
        }
        store(largest + q, m);
        store(factors + q, factor);
        store(sums + q, sum);
    }
}

/// Adds the mask, from key j on, to scores of so many keys; `room` has as many elements. Where it is -infinity, so is what is found.
template <class T>
inline void add_mask(const tenon::detail::attention_block<T>& b, std::int64_t j, std::int64_t keys, T* scores,
                     T* room) {
    const std::int64_t w = b.width;
    const T* const mask = b.mask + j * b.mask_key;
    const bool is_dense = b.mask_key == 1 && b.mask_row != 0; // else it is the same for all queries, or for all keys
    if (is_dense) {
        if (b.rows < w) std::fill_n(room, keys * w, T(0));
        tenon::detail::transpose_matrix(mask, b.mask_row, room, w, b.rows, keys);
    }
    const pack<T> lowest = broadcast<T>(-std::numeric_limits<T>::infinity());
    for (std::int64_t k = 0; k < keys; ++k)
        for (std::int64_t i = 0; i < w; i += lanes) {
            T* const x = scores + k * w + i;
            pack<T> m;
            if (is_dense) m = load(room + k * w + i);
            else if (b.mask_row == 0) m = broadcast<T>(mask[k * b.mask_key]);
            else {
                T some[lanes] = {};
                for (std::int64_t l = 0; l < lanes && i + l < b.rows; ++l) some[l] = mask[(i + l) * b.mask_row];
                m = load(some);
            }
            store(x, select(m == lowest, lowest, load(x) + m));
        }
}

/// One block of queries of one head: `rows` of them, the first of which is number `first`.
template <class T>
inline void attend_block(const tenon::detail::attention_sizes& s, const tenon::detail::attention_block<T>& b) {
    using tenon::detail::attention_keys;
    const std::int64_t w = b.width;
    T* const q = b.scratch;              // [size, width]
    T* const x = q + s.size * w;         // [attention_keys, width]
    T* const y = x + attention_keys * w; // [value_size, width]
    T *const largest = y + s.value_size * w, *const sums = largest + w, *const factors = sums + w,
             *const room = factors + w;
    take_transposed(b.q, s.q.row, b.rows, s.size, q, w, static_cast<T>(s.scale));
    for (std::int64_t i = 0; i < w; i += lanes) {
        store(largest + i, broadcast<T>(-std::numeric_limits<T>::infinity()));
        store(sums + i, pack<T>{});
    }
    for (std::int64_t j = 0; j < b.keys; j += attention_keys) {
        const std::int64_t keys = b.keys - j < attention_keys ? b.keys - j : attention_keys, ahead = j - b.first;
        product<T>({b.k + j * s.k.row, s.k.row, 1}, q, w, x, w, keys, w, s.size, false);
        if (s.masked) add_mask(b, j, keys, x, room);
        exponentiate(x, keys, w, {s.causal, ahead}, largest, sums, factors);
        for (std::int64_t c = 0; c < s.value_size && j > 0; ++c)
            for (std::int64_t i = c * w; i < (c + 1) * w; i += lanes)
                store(y + i, load(y + i) * load(factors + i - c * w));
        product<T>({b.v + j * s.v.row, 1, s.v.row}, x, w, y, w, s.value_size, w, keys, j > 0);
    }
    if (b.keys == 0) {
        for (std::int64_t i = 0; i < b.rows && b.logs; ++i) b.logs[i] = -std::numeric_limits<T>::infinity();
        for (std::int64_t i = 0; i < b.rows && b.out; ++i)
            for (std::int64_t c = 0; c < s.value_size; ++c) b.out[i * s.y.row + c] = 0;
        return;
    }
    for (std::int64_t i = 0; i < w; i += lanes) {
        const pack<T> sum = load(sums + i);
        store(largest + i, load(largest + i) + log(sum));
        const pack<T> one = broadcast<T>(1);
        store(factors + i, s.masked ? select(sum == pack<T>{}, pack<T>{}, one / sum) : one / sum); // who sees none
    }
    for (std::int64_t i = 0; i < b.rows && b.logs; ++i) b.logs[i] = largest[i];
    if (!b.out) return;
    for (std::int64_t c = 0; c < s.value_size; ++c)
        for (std::int64_t i = 0; i < w; i += lanes) store(y + c * w + i, load(y + c * w + i) * load(factors + i));
    tenon::detail::transpose_matrix(y, w, b.out, s.y.row, s.value_size, b.rows);
}

/// What a block of queries brings to the gradients, from the keys first_key .. b.keys - 1.
template <class T>
inline void attend_block_backward(const tenon::detail::attention_sizes& s, const tenon::detail::attention_block<T>& b,
                                  const tenon::detail::attention_gradients<T>& g, std::int64_t first_key) {
    using tenon::detail::attention_keys;
    const std::int64_t w = b.width, e = s.value_size;
    T* const q = b.scratch;               // [size, width]
    T* const dy = q + s.size * w;         // [value_size, width]
    T* const p = dy + e * w;              // [attention_keys, width]
    T* const dx = p + attention_keys * w; // the same
    T *const logs = dx + attention_keys * w, *const along = logs + w, *const room = along + w;
    take_transposed(b.q, s.q.row, b.rows, s.size, q, w, static_cast<T>(s.scale));
    take_transposed(g.dout, s.dy.row, b.rows, e, dy, w, T(1));
    for (std::int64_t i = 0; i < w; ++i) {
        pack<T> sum{};
        if (i < b.rows)
            for_packs(e, [&](std::int64_t c, auto n) TENON_ROWS_LAMBDA {
                sum = fma(load_some(g.dout + i * s.dy.row + c, n), load_some(g.out + i * s.y.row + c, n), sum);
            });
        along[i] = reduce_add(sum);
        const bool sees = i < b.rows && !(s.masked && g.logs[i] == -std::numeric_limits<T>::infinity());
        logs[i] = sees ? g.logs[i] : 0;
    }
    const pack<T> whole = broadcast<T>(static_cast<T>(s.scale)), scale = g.dmask ? broadcast<T>(1) : whole;
    for (std::int64_t j = first_key; j < b.keys; j += attention_keys) {
        const std::int64_t keys = b.keys - j < attention_keys ? b.keys - j : attention_keys;
        const causal_lanes c{s.causal, j - b.first};
        product<T>({b.k + j * s.k.row, s.k.row, 1}, q, w, p, w, keys, w, s.size, false);
        if (s.masked) add_mask(b, j, keys, p, room);
        product<T>({b.v + j * s.v.row, s.v.row, 1}, dy, w, dx, w, keys, w, e, false);
        for (std::int64_t lane = 0; lane < w; lane += lanes) {
            const std::int64_t all = c.seen_by_all(lane, keys);
            const pack<T> log_sum = load(logs + lane), less = load(along + lane);
            for (std::int64_t i = 0; i < keys; ++i) {
                T *const at_p = p + i * w + lane, *const at_dx = dx + i * w + lane;
                pack<T> weight, d = load(at_dx) - less;
                if (i < all) weight = exp_below_one(load(at_p) - log_sum);
                else {
                    const pack<bool> seen = c.seen(lane, i);
                    weight = select(seen, exp_below_one(select(seen, load(at_p), log_sum) - log_sum), pack<T>{});
                    d = select(seen, d, pack<T>{});
                }
                store(at_p, weight);
                store(at_dx, weight * d * scale);
            }
        }
        if (g.dmask) {
            tenon::detail::transpose_matrix(dx, w, g.dmask + j, g.dmask_row, keys, b.rows);
            for (std::int64_t i = 0; i < keys * w; i += lanes) store(dx + i, load(dx + i) * whole);
        }
        if (g.dv) product<T>({p, w, 1}, g.dout, s.dy.row, g.dv + j * s.dv.row, s.dv.row, keys, e, b.rows, true);
        if (g.dk) product<T>({dx, w, 1}, b.q, s.q.row, g.dk + j * s.dk.row, s.dk.row, keys, s.size, b.rows, true);
        if (g.dq) product<T>({dx, 1, w}, b.k + j * s.k.row, s.k.row, g.dq, s.dq.row, b.rows, s.size, keys, true);
    }
}

} // namespace tenon::simd::TENON_SIMD_NS
