// Read once per instruction set (see simd/for_each_isa.hpp): a product on one thread.
//
// c is made tile by tile, `tile_rows` x (`tile_vectors` registers) elements held in registers over a whole
// block of k. a is read in place, one element broadcast to a register at a time, found through tables of its
// rows' and its terms' offsets, so that a transposed matrix or the windows of an image need no copy. b is
// read in place, or copied to panels of a tile's width where that pays (see product.ipp).

namespace tenon::simd::TENON_SIMD_NS {

/// A vector of `Bytes` bytes.
template <class T, int Bytes> using wide = native_t<T, Bytes / static_cast<int>(sizeof(T))>;

template <int Bytes, class T> TENON_SIMD_INLINE wide<T, Bytes> load_wide(const T* from) {
    using unaligned = typename native<T, Bytes / static_cast<int>(sizeof(T))>::unaligned;
    return *reinterpret_cast<const unaligned*>(from);
}
template <int Bytes, class T> TENON_SIMD_INLINE void store_wide(T* to, wide<T, Bytes> a) {
    using unaligned = typename native<T, Bytes / static_cast<int>(sizeof(T))>::unaligned;
    *reinterpret_cast<unaligned*>(to) = a;
}
#if TENON_SIMD_LEVEL == 2
// The compilers' masked moves of 4-byte words. clang's take pointers to vectors where they are not the widest.
#if defined(__clang__)
using words_of_half = wide<int, 32>;
#else
using words_of_half = int;
#endif
TENON_SIMD_INLINE wide<int, 64> load_masked(const void* from, unsigned mask, wide<int, 64> other) {
    return __builtin_ia32_loaddqusi512_mask(static_cast<const int*>(from), other,
                                            static_cast<unsigned short>(mask));
}
TENON_SIMD_INLINE wide<int, 32> load_masked(const void* from, unsigned mask, wide<int, 32> other) {
    return __builtin_ia32_loaddqusi256_mask(static_cast<const words_of_half*>(from), other,
                                            static_cast<unsigned char>(mask));
}
TENON_SIMD_INLINE void store_masked(void* to, unsigned mask, wide<int, 64> a) {
    __builtin_ia32_storedqusi512_mask(static_cast<int*>(to), a, static_cast<unsigned short>(mask));
}
TENON_SIMD_INLINE void store_masked(void* to, unsigned mask, wide<int, 32> a) {
    __builtin_ia32_storedqusi256_mask(static_cast<words_of_half*>(to), a, static_cast<unsigned char>(mask));
}
#endif

/// The first n elements, fewer than a whole vector; the others are zero.
template <int Bytes, class T> TENON_SIMD_INLINE wide<T, Bytes> load_first(const T* from, int n) {
#if TENON_SIMD_LEVEL == 2
    const unsigned words = (1U << (static_cast<unsigned>(n) * sizeof(T) / 4U)) - 1U;
    return bits_as<wide<T, Bytes>>(load_masked(from, words, wide<int, Bytes>{}));
#else
    wide<T, Bytes> result = {};
    for (int i = 0; i < n; ++i) result[i] = from[i];
    return result;
#endif
}
template <int Bytes, class T> TENON_SIMD_INLINE void store_first(T* to, wide<T, Bytes> a, int n) {
#if TENON_SIMD_LEVEL == 2
    const unsigned words = (1U << (static_cast<unsigned>(n) * sizeof(T) / 4U)) - 1U;
    store_masked(to, words, bits_as<wide<int, Bytes>>(a));
#else
    for (int i = 0; i < n; ++i) to[i] = a[i];
#endif
}

TENON_SIMD_INLINE f32 multiply_add(f32 a, f32 b, f32 c) { return native_fma(a, b, c); }
TENON_SIMD_INLINE f64 multiply_add(f64 a, f64 b, f64 c) { return native_fma(a, b, c); }
#if TENON_SIMD_LEVEL == 2
TENON_SIMD_INLINE wide<float, 32> multiply_add(wide<float, 32> a, wide<float, 32> b, wide<float, 32> c) {
    return __builtin_ia32_vfmaddps256(a, b, c);
}
TENON_SIMD_INLINE wide<double, 32> multiply_add(wide<double, 32> a, wide<double, 32> b, wide<double, 32> c) {
    return __builtin_ia32_vfmaddpd256(a, b, c);
}
#endif

/// What the tiles of one pass have in common.
template <class T> struct tile_job {
    const dense::detail::term* first;
    const dense::detail::term* end;
    const T* a;
    std::int64_t b_row;
    T scale;
    bool add; // to what c holds
    bool clip;
};

/// The rows from some row on: their offsets in a and in c.
template <class T> struct tile_rows_of {
    const std::int64_t* a_rows;
    T* c;
    const std::int64_t* c_rows;

    TENON_SIMD_INLINE tile_rows_of from(std::int64_t i) const { return {a_rows + i, c, c_rows + i}; }
};

/// c[0..Rows) x [0..Vectors * lanes) from Rows rows of a and a panel of b; of the last vector only `last`
/// columns are c's. `bias` may be null.
template <class T, int Bytes, int Rows, int Vectors>
[[gnu::noinline]] void make_tile(const tile_job<T>& job, tile_rows_of<T> where, const T* b, const T* bias,
                                 int last) {
    using vector = wide<T, Bytes>;
    constexpr int width = Bytes / static_cast<int>(sizeof(T));
    vector sum[Rows][Vectors] = {};
    const T* row[Rows];
    TENON_UNROLL for (int i = 0; i < Rows; ++i) row[i] = job.a + where.a_rows[i];

    const std::int64_t b_row = job.b_row;
    // One loop over all terms: leaving an inner loop for each stretch of them would be mispredicted each
    // time.
    for (const dense::detail::term* at = job.first; at != job.end; ++at) {
        const T* from = b + at->b * b_row;
        vector from_b[Vectors];
        TENON_UNROLL for (int j = 0; j < Vectors; ++j) from_b[j] = load_wide<Bytes>(from + j * width);
        TENON_UNROLL for (int i = 0; i < Rows; ++i) {
            const vector from_a = row[i][at->a] - vector{};
            TENON_UNROLL for (int j = 0; j < Vectors; ++j) sum[i][j] =
                multiply_add(from_a, from_b[j], sum[i][j]);
        }
    }

    const vector scale = job.scale - vector{};
    TENON_UNROLL for (int j = 0; j < Vectors; ++j) {
        const bool part = j == Vectors - 1 && last < width;
        vector shift = {};
        if (bias != nullptr)
            shift = part ? load_first<Bytes>(bias + j * width, last) : load_wide<Bytes>(bias + j * width);
        TENON_UNROLL for (int i = 0; i < Rows; ++i) {
            T* to = where.c + where.c_rows[i] + j * width;
            vector value = multiply_add(sum[i][j], scale, shift);
            if (job.add)
                value += part ? load_first<Bytes>(static_cast<const T*>(to), last)
                              : load_wide<Bytes>(static_cast<const T*>(to));
            if (job.clip) value = value < vector{} ? vector{} : value;
            if (part) store_first<Bytes>(to, value, last);
            else store_wide<Bytes>(to, value);
        }
    }
}

inline constexpr int tile_rows = TENON_SIMD_LEVEL == 2 ? 8 : 4;
inline constexpr int tile_vectors = TENON_SIMD_LEVEL == 0 ? 2 : 3;
/// Columns left over that fit half a register are computed in one: some processors are twice as fast at that.
template <class T>
inline constexpr int narrow_lanes = TENON_SIMD_LEVEL == 2 ? 32 / static_cast<int>(sizeof(T)) : 0;

/// All rows of one panel of columns.
template <class T, int Bytes, int Vectors>
void make_panel(const tile_job<T>& job, std::int64_t rows, tile_rows_of<T> where, const T* b, const T* bias,
                int last) {
    std::int64_t i = 0;
    for (; i + tile_rows <= rows; i += tile_rows)
        make_tile<T, Bytes, tile_rows, Vectors>(job, where.from(i), b, bias, last);
    if constexpr (tile_rows == 8) {
        if (i + 4 <= rows) {
            make_tile<T, Bytes, 4, Vectors>(job, where.from(i), b, bias, last);
            i += 4;
        }
    }
    if (i + 2 <= rows) {
        make_tile<T, Bytes, 2, Vectors>(job, where.from(i), b, bias, last);
        i += 2;
    }
    if (i < rows) make_tile<T, Bytes, 1, Vectors>(job, where.from(i), b, bias, last);
}

/// Square blocks transposed in registers: 8 x 8 floats or 4 x 4 doubles (4 x 4 and 2 x 2 in the baseline).
inline constexpr int block_bytes = TENON_SIMD_LEVEL == 0 ? 16 : 32;

TENON_SIMD_INLINE void transpose_block(wide<float, 16> (&r)[4]) {
    const auto a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
               b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    const auto c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
               d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
TENON_SIMD_INLINE void transpose_block(wide<double, 16> (&r)[2]) {
    const auto a = r[0];
    r[0] = __builtin_shufflevector(a, r[1], 0, 2);
    r[1] = __builtin_shufflevector(a, r[1], 1, 3);
}
#if TENON_SIMD_LEVEL > 0
TENON_SIMD_INLINE void transpose_block(wide<float, 32> (&r)[8]) {
    wide<float, 32> s[8];
    TENON_UNROLL for (int i = 0; i < 4; ++i) {
        s[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    TENON_UNROLL for (int i = 0; i < 2; ++i) {
        TENON_UNROLL for (int j = 0; j < 2; ++j) {
            r[4 * i + 2 * j] =
                __builtin_shufflevector(s[4 * i + j], s[4 * i + 2 + j], 0, 1, 8, 9, 4, 5, 12, 13);
            r[4 * i + 2 * j + 1] =
                __builtin_shufflevector(s[4 * i + j], s[4 * i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    TENON_UNROLL for (int i = 0; i < 4; ++i) {
        const auto low = r[i], high = r[i + 4];
        r[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
TENON_SIMD_INLINE void transpose_block(wide<double, 32> (&r)[4]) {
    const auto a = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6),
               b = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7);
    const auto c = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6),
               d = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    r[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
#endif

/// to[i * to_row + j] = from[i + j * from_row] for i < rows, j < columns.
template <class T>
void transpose_copy(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows,
                    std::int64_t columns) {
    constexpr int block = block_bytes / static_cast<int>(sizeof(T));
    std::int64_t j = 0;
    for (; j + block <= columns; j += block) {
        std::int64_t i = 0;
        for (; i + block <= rows; i += block) {
            wide<T, block_bytes> r[block];
            TENON_UNROLL for (int q = 0; q < block; ++q) r[q] =
                load_wide<block_bytes>(from + i + (j + q) * from_row);
            transpose_block(r);
            TENON_UNROLL for (int q = 0; q < block; ++q)
                store_wide<block_bytes>(to + (i + q) * to_row + j, r[q]);
        }
        for (; i < rows; ++i) {
            for (int q = 0; q < block; ++q) to[i * to_row + j + q] = from[i + (j + q) * from_row];
        }
    }
    for (; j < columns; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) to[i * to_row + j] = from[i + j * from_row];
    }
}

/// k rows of a panel `width` columns wide, padded with zeros to `padded`, a whole number of registers.
template <class T>
void pack_panel(const T* b, std::int64_t b_row, std::int64_t b_column, std::int64_t k, int width, int padded,
                T* to) {
    if (b_column == 1) {
        constexpr int lane_count = TENON_SIMD_WIDTH / static_cast<int>(sizeof(T));
        const int whole = width / lane_count * lane_count;
        for (std::int64_t p = 0; p < k; ++p) {
            const T* from = b + p * b_row;
            T* row = to + p * padded;
            for (int j = 0; j < whole; j += lane_count)
                store_wide<TENON_SIMD_WIDTH>(row + j, load_wide<TENON_SIMD_WIDTH>(from + j));
            if (whole < width)
                store_wide<TENON_SIMD_WIDTH>(row + whole,
                                             load_first<TENON_SIMD_WIDTH>(from + whole, width - whole));
        }
        return;
    }
    transpose_copy(b, b_column, to, padded, k, width);
    for (int j = width; j < padded; ++j) {
        for (std::int64_t p = 0; p < k; ++p) to[p * padded + j] = T(0);
    }
}

/// The width of the next panel when `left` columns are left.
template <class T> void choose_panel(std::int64_t left, int& width) {
    constexpr int lane_count = TENON_SIMD_WIDTH / static_cast<int>(sizeof(T));
    constexpr int panel = tile_vectors * lane_count;
    // One register more than a panel is divided evenly: a tile one register wide keeps the adders less busy.
    if (tile_vectors == 3 && left > panel + narrow_lanes<T> && left <= 4 * lane_count) width = 2 * lane_count;
    else width = left < panel ? static_cast<int>(left) : panel;
}

/// Where a panel of a part has its copy; -1 when b is read in place.
template <class T>
std::int64_t packed_at(const dense::detail::product<T>& p, const dense::detail::packed_part& part,
                       std::int64_t q) {
    constexpr int lane_count = TENON_SIMD_WIDTH / static_cast<int>(sizeof(T));
    const auto* start = p.panels.data();
    if (p.copy_b) return (part.k_end - part.k_begin) * (start[q] - start[part.first]);
    return (start[q + 1] - start[q]) % lane_count == 0 ? -1 : 0;
}

template <class T>
void pack_panels(const dense::detail::product<T>& p, const dense::detail::packed_part& part, const T* b,
                 T* packed, std::int64_t first, std::int64_t end) {
    constexpr int lane_count = TENON_SIMD_WIDTH / static_cast<int>(sizeof(T));
    for (std::int64_t q = first; q < end; ++q) {
        const std::int64_t at = packed_at(p, part, q);
        if (at < 0) continue;
        const std::int64_t column = p.panels.data()[q];
        const int width = static_cast<int>(p.panels.data()[q + 1] - column);
        const int padded = (width + lane_count - 1) / lane_count * lane_count;
        pack_panel(b + part.k_begin * p.b_row + column * p.b_column, p.b_row, p.b_column,
                   part.k_end - part.k_begin, width, padded, packed + at);
    }
}

template <class T>
void multiply_rows(const dense::detail::product<T>& p, const dense::detail::operands<T>& o,
                   const dense::detail::row_range& range, std::int64_t first, std::int64_t end) {
    constexpr int lane_count = TENON_SIMD_WIDTH / static_cast<int>(sizeof(T));
    // Rows of a that one panel of b meets before the next one does: about half of L2.
    constexpr std::int64_t row_block = 128;
    for (std::int64_t index = range.first_pass; index < range.end_pass; ++index) {
        const auto& pass = range.of->passes.data()[index];
        const bool final = index == range.of->pass_count() - 1;
        const dense::detail::term* terms = range.of->terms.data() + pass.first;
        tile_job<T> job{terms,   terms + pass.count, o.a + pass.a,   0,
                        p.scale, o.add || index > 0, p.clip && final};
        for (std::int64_t i = range.begin; i < range.end; i += row_block) {
            const std::int64_t rows = range.end - i < row_block ? range.end - i : row_block;
            for (std::int64_t q = first; q < end; ++q) {
                const std::int64_t column = p.panels.data()[q];
                const int width = static_cast<int>(p.panels.data()[q + 1] - column);
                const int vectors = (width + lane_count - 1) / lane_count;
                const int last = width - (vectors - 1) * lane_count;
                const std::int64_t at = packed_at(p, o.part, q);
                job.b_row = at < 0 ? p.b_row : vectors * lane_count;
                const T* b = at < 0 ? o.b + column + pass.b * job.b_row
                                    : o.packed + at + (pass.b - o.part.k_begin) * job.b_row;
                const T* bias = o.bias != nullptr && final ? o.bias + column : nullptr;
                const tile_rows_of<T> where{p.a_rows.data() + i, o.c + column, p.c_rows.data() + i};
                if (vectors == 3) {
                    if constexpr (tile_vectors == 3)
                        make_panel<T, TENON_SIMD_WIDTH, 3>(job, rows, where, b, bias, last);
                } else if (vectors == 2) {
                    make_panel<T, TENON_SIMD_WIDTH, 2>(job, rows, where, b, bias, last);
#if TENON_SIMD_LEVEL == 2
                } else if (last <= narrow_lanes<T>) {
                    make_panel<T, 32, 1>(job, rows, where, b, bias, last);
#endif
                } else {
                    make_panel<T, TENON_SIMD_WIDTH, 1>(job, rows, where, b, bias, last);
                }
            }
        }
    }
}

/// See tenon::dense::detail::add_rows.
template <class T> void sum_rows(const T* from, std::int64_t rows, std::int64_t columns, T* sums) {
    constexpr int bytes = TENON_SIMD_WIDTH;
    constexpr int lane_count = bytes / static_cast<int>(sizeof(T));
    std::int64_t j = 0;
    for (; j + 4 * lane_count <= columns; j += 4 * lane_count) {
        wide<T, bytes> sum[4] = {};
        for (std::int64_t i = 0; i < rows; ++i) {
            TENON_UNROLL for (int q = 0; q < 4; ++q) sum[q] +=
                load_wide<bytes>(from + i * columns + j + q * lane_count);
        }
        TENON_UNROLL for (int q = 0; q < 4; ++q) store_wide<bytes>(sums + j + q * lane_count, sum[q]);
    }
    for (; j < columns; j += lane_count) {
        const int count = columns - j < lane_count ? static_cast<int>(columns - j) : lane_count;
        wide<T, bytes> sum[2] = {};
        std::int64_t i = 0;
        if (count == lane_count) {
            for (; i + 2 <= rows; i += 2) {
                sum[0] += load_wide<bytes>(from + i * columns + j);
                sum[1] += load_wide<bytes>(from + (i + 1) * columns + j);
            }
        }
        for (; i < rows; ++i) sum[0] += load_first<bytes>(from + i * columns + j, count);
        store_first<bytes>(sums + j, sum[0] + sum[1], count);
    }
}

} // namespace tenon::simd::TENON_SIMD_NS
