#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/ops/reduce/row_packs.hpp>
#include <tenon/simd/pack.hpp>

/// How reductions run: what their axes look like in memory, how the work is divided, and which loops do it.
/// The division depends on the sizes only, so a result does not depend on the number of threads.

namespace tenon::reducing {

enum class combination { sum, product, least, largest };

/// What is done to an element first. The deviations and exponentials are of the distance from a parameter
/// that an earlier pass has found.
enum class mapping { none, square, magnitude, squared_deviation, shifted_exp, reversed };

/// How memory is read: as numbers, as 1 where it is not zero, or, unsigned, with the order of signed numbers.
enum class reading { numbers, nonzero, ordered };

/// What leaves every element unchanged.
template <combination How, class C> constexpr C identity_of() {
    using limits = std::numeric_limits<C>;
    if constexpr (How == combination::sum) return C{};
    else if constexpr (How == combination::product) return C{1};
    else if constexpr (How == combination::least) return limits::has_infinity ? limits::infinity() : limits::max();
    else return limits::has_infinity ? -limits::infinity() : limits::lowest();
}
template <class C> constexpr C identity_of(combination how) {
    switch (how) {
    case combination::sum: return identity_of<combination::sum, C>();
    case combination::product: return identity_of<combination::product, C>();
    case combination::least: return identity_of<combination::least, C>();
    default: return identity_of<combination::largest, C>();
    }
}

/// Loops run in float, double, int32 or int64 (C); their results are combined in double or int64 (W).
/// Integers wrap around, and what an int64 has modulo 2^8 .. 2^32 is what the narrower type would have.
template <class C> using wide_t = std::conditional_t<std::is_integral_v<C>, std::int64_t, double>;

template <combination How, class W> constexpr W combine_two(W a, W b) {
    using wrapping =
        typename std::conditional_t<std::is_integral_v<W>, std::make_unsigned<W>, std::type_identity<W>>::type;
    if constexpr (How == combination::sum) return static_cast<W>(static_cast<wrapping>(a) + static_cast<wrapping>(b));
    else if constexpr (How == combination::product)
        return static_cast<W>(static_cast<wrapping>(a) * static_cast<wrapping>(b));
    else if constexpr (How == combination::least) return a < b || a != a ? a : b;
    else return a > b || a != a ? a : b;
}
template <class W> W combine_two(combination how, W a, W b) {
    switch (how) {
    case combination::sum: return combine_two<combination::sum>(a, b);
    case combination::product: return combine_two<combination::product>(a, b);
    case combination::least: return combine_two<combination::least>(a, b);
    default: return combine_two<combination::largest>(a, b);
    }
}

template <class C> struct reduction_loops {
    /// out[i] = x[i * n] .. x[i * n + n - 1] combined, for i < count.
    void (*rows)(const C* x, std::int64_t count, std::int64_t n, C* out);
    /// out[j] = x[j], x[stride + j], .. combined over `rows` rows, for j < width.
    void (*columns)(const C* x, std::int64_t rows, std::int64_t stride, std::int64_t width, C* out);
    /// sums[j] combined with x[j], for j < n; set, when they are fresh.
    void (*widen)(const C* x, wide_t<C>* sums, std::int64_t n, bool fresh);
    int lanes;
};
template <class C> struct search_loops {
    std::int64_t (*position_of)(const C* x, std::int64_t n, C value);
    void (*improve_columns)(const C* x, std::int64_t rows, std::int64_t stride, std::int64_t width, std::int64_t number,
                            C* values, std::int64_t* positions);
};
template <class C> using block_reader = void (*)(const void* from, C* to, std::int64_t n);
template <class C>
using block_mapper = void (*)(const C* x, C* to, std::int64_t n, const C* parameter, std::int64_t step);
/// As reduction_loops, of mapped elements. A parameter for each row or column, or null.
template <class C> struct mapped_loops {
    void (*rows)(const C* x, std::int64_t count, std::int64_t n, const C* parameter, C* out) = nullptr;
    void (*columns)(const C* x, std::int64_t rows, std::int64_t stride, std::int64_t width, const C* parameter,
                    C* out) = nullptr;
};
/// Of each of `count` rows of n elements a shift near the largest one, and the sum of e^(x - shift), in one pass.
template <class C>
using exponential_loop = void (*)(const C* x, std::int64_t count, std::int64_t n, C* shifts, C* sums);

} // namespace tenon::reducing

#define TENON_SIMD_FILE <tenon/ops/reduce/reduce.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::reducing {

/// A tensor seen by a reduction: dimensions of size 1 dropped, neighbours of one kind merged. The innermost
/// dimension has `n` elements; when it is kept there are `rows` reduced ones right around it (else rows is
/// 1).
struct reduction_layout {
    struct dimension {
        std::int64_t size, stride;
    };
    std::int64_t n = 1;
    std::int64_t rows = 1;
    bool inner_is_kept = false;
    std::int64_t outer_kept_count = 1, outer_reduced_count = 1;
    int outer_kept_rank = 0, outer_reduced_rank = 0;
    dimension outer_kept[max_rank]{}, outer_reduced[max_rank]{};

    reduction_layout(const extents& sizes, const detail::axis_set& axes) {
        std::int64_t size[max_rank]{};
        bool reduced[max_rank]{};
        int rank = 0;
        for (int i = 0; i < sizes.rank(); ++i) {
            if (sizes[i].size == 1) continue;
            if (rank > 0 && reduced[rank - 1] == axes.has(i)) size[rank - 1] *= sizes[i].size;
            else {
                size[rank] = sizes[i].size;
                reduced[rank++] = axes.has(i);
            }
        }
        if (rank == 0) return;
        std::int64_t stride = size[--rank];
        n = stride;
        inner_is_kept = !reduced[rank];
        if (inner_is_kept && rank > 0) {
            rows = size[--rank];
            stride *= rows;
        }
        while (rank-- > 0) {
            const dimension d{size[rank], stride};
            if (reduced[rank]) {
                outer_reduced[outer_reduced_rank++] = d;
                outer_reduced_count *= d.size;
            } else {
                outer_kept[outer_kept_rank++] = d;
                outer_kept_count *= d.size;
            }
            stride *= d.size;
        }
    }

    std::int64_t reduced_count() const { return outer_reduced_count * (inner_is_kept ? rows : n); }
    std::int64_t outputs() const { return outer_kept_count * (inner_is_kept ? n : 1); }

    /// [many, kept, few] with the two ends reduced: rather two passes, over the first dimension and over the
    /// last.
    bool is_sandwich() const {
        return !inner_is_kept && outer_reduced_rank == 1 && outer_kept_rank == 1 && outer_kept[0].stride == n &&
               outer_reduced_count >= 4 && n > 0 && n <= 16384;
    }
    reduction_layout without_inner() const {
        return {extents(outer_reduced_count, outer_kept_count * n), detail::axis_set{fault::none, 1}};
    }
    reduction_layout inner() const { return {extents(outer_kept_count, n), detail::axis_set{fault::none, 2}}; }

    std::int64_t kept_offset(std::int64_t index) const { return offset(index, outer_kept, outer_kept_rank); }
    std::int64_t reduced_offset(std::int64_t index) const { return offset(index, outer_reduced, outer_reduced_rank); }

private:
    static std::int64_t offset(std::int64_t index, const dimension* dims, int rank) {
        std::int64_t at = 0;
        for (int i = 0; i < rank && index > 0; ++i) { // the innermost dimension comes first
            at += index % dims[i].size * dims[i].stride;
            index /= dims[i].size;
        }
        return at;
    }
};

inline constexpr std::int64_t worth_a_thread = 32768; // elements

/// Calls f(begin, end) for pieces of `count` things that take `elements` elements in all.
template <class F> void for_pieces(thread_pool* pool, std::int64_t count, std::int64_t elements, const F& f) {
    if (!pool || elements < 2 * worth_a_thread) {
        if (count > 0) f(std::int64_t{0}, count);
        return;
    }
    const std::int64_t grain = count * worth_a_thread / elements;
    pool->parallel_for(count, grain > 0 ? grain : 1, f);
}

/// What elements are read as: memory of some element type, as C, mapped.
template <class C> struct reduction_source {
    std::size_t element_bytes = sizeof(C);
    block_reader<C> read = nullptr;
    block_mapper<C> map = nullptr;
    mapping kind = mapping::none;

    reduction_source() = default;
    reduction_source(element_type e, mapping m, reading how) :
        element_bytes(size_of(e)),
        read(TENON_SIMD_BEST(block_reader_of<C>(e, how))),
        map(TENON_SIMD_BEST(block_mapper_of<C>(m))),
        kind(m) {}

    bool is_direct() const { return !read && !map; }
    const std::byte* at(const void* x, std::int64_t offset) const {
        return static_cast<const std::byte*>(x) + offset * static_cast<std::int64_t>(element_bytes);
    }
    /// n elements as they are combined: where they lie, or in `buffer`.
    const C* block(const void* x, std::int64_t n, const C* parameter, std::int64_t step, C* buffer) const {
        const C* values = static_cast<const C*>(x);
        const C none{};
        if (read) {
            read(x, buffer, n);
            values = buffer;
        }
        if (!map) return values;
        map(values, buffer, n, parameter ? parameter : &none, parameter ? step : 0);
        return buffer;
    }
};

/// One pass over a tensor: every output's elements combined, in W.
template <class C> class reduction_pass {
public:
    using W = wide_t<C>;
    /// (first output, count, results, parameters or null)
    using finish_function = function_ref<void(std::int64_t, std::int64_t, const W*, const C*)>;

    reduction_pass(const reduction_layout& layout, combination how, const reduction_source<C>& source) :
        l_(layout), how_(how), source_(source), loops_(loops_for(how)) {
        direct_ = source.is_direct();
        if (!source.read && source.map) mapped_ = TENON_SIMD_BEST(mapped_loops_of<C>(source.kind, how));
        buffered_ = !direct_ && !mapped_.rows;
        piece_ = buffered_ ? block : 16384;
        tile_limit_ = buffered_ ? 512 : most_columns;
        // Few long outputs are cut into parts that threads can share.
        lines_ = l_.outer_reduced_count * (l_.inner_is_kept ? l_.rows : l_.n);
        tiles_ = l_.inner_is_kept ? (l_.n + tile_limit_ - 1) / tile_limit_ : 1;
        const std::int64_t units = l_.outer_kept_count * tiles_;
        if (units > 0 && units < most_parts) {
            parts_ = lines_ * (l_.inner_is_kept ? l_.n / tiles_ : 1) / worth_a_thread;
            if (parts_ > most_parts / units) parts_ = most_parts / units;
            if (parts_ < 1) parts_ = 1;
        }
    }

    const reduction_layout& layout() const { return l_; }
    std::size_t scratch_bytes() const {
        return parts_ == 1 ? 0 : static_cast<std::size_t>(parts_ * l_.outputs()) * sizeof(W);
    }
    /// Outputs are found one after the other, by outputs().
    bool is_local() const { return parts_ == 1; }

    /// `finish` is called for stretches that cover all outputs. `parameter` has one for each output, or is
    /// null.
    void run(const void* x, const C* parameter, std::byte* scratch, thread_pool* pool, finish_function finish) const {
        const std::int64_t total = l_.outputs() * l_.reduced_count();
        if (parts_ == 1) {
            for_pieces(pool, l_.outer_kept_count, total,
                       [&](std::int64_t begin, std::int64_t end) { outputs(x, begin, end, parameter, finish); });
            return;
        }
        W* partial = reinterpret_cast<W*>(scratch);
        const std::int64_t width = l_.inner_is_kept ? l_.n : 1;
        for_pieces(pool, l_.outer_kept_count * tiles_ * parts_, total, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t part = i % parts_, tile = i / parts_ % tiles_, unit = i / parts_ / tiles_;
                const std::int64_t first = lines_ * part / parts_, last = lines_ * (part + 1) / parts_;
                const std::int64_t at = l_.kept_offset(unit);
                W* to = partial + part * l_.outputs() + unit * width;
                if (!l_.inner_is_kept) *to = stretch(x, at, first, last, parameter ? parameter + unit : nullptr);
                else {
                    const std::int64_t j = l_.n * tile / tiles_, w = l_.n * (tile + 1) / tiles_ - j;
                    columns(x, at + j, first, last, w, parameter ? parameter + unit * width + j : nullptr, to + j);
                }
            }
        });
        const std::int64_t count = l_.outputs();
        for_pieces(pool, count, count * parts_, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t part = 1; part < parts_; ++part)
                for (std::int64_t o = begin; o < end; ++o)
                    partial[o] = combine_two(how_, partial[o], partial[part * count + o]);
            finish(begin, end - begin, partial + begin, parameter ? parameter + begin : nullptr);
        });
    }

    /// The same, where results need no finishing, and can go straight to `out`; says whether it was so.
    bool run_directly(const void* x, C* out, thread_pool* pool) const {
        if (!direct_ || parts_ > 1 || l_.outer_reduced_count != 1) return false;
        const C* from = static_cast<const C*>(x);
        const std::int64_t total = l_.outputs() * l_.reduced_count();
        if (l_.inner_is_kept) {
            if (tiles_ > 1 || l_.rows > piece_rows || (2 * l_.n <= 8 * loops_.lanes && l_.rows > 64)) return false;
            for_pieces(pool, l_.outer_kept_count, total, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i)
                    loops_.columns(from + l_.kept_offset(i), l_.rows, l_.n, l_.n, out + i * l_.n);
            });
        } else {
            if (l_.n > piece_) return false;
            for_pieces(pool, l_.outer_kept_count, total, [&](std::int64_t begin, std::int64_t end) {
                loops_.rows(from + begin * l_.n, end - begin, l_.n, out + begin);
            });
        }
        return true;
    }

    /// Outputs of the kept dimensions' outer indices begin .. end-1, one after the other.
    void outputs(const void* x, std::int64_t begin, std::int64_t end, const C* parameter,
                 finish_function finish) const {
        if (l_.inner_is_kept) {
            W sums[most_columns];
            for (std::int64_t unit = begin; unit < end; ++unit) {
                const std::int64_t at = l_.kept_offset(unit);
                for (std::int64_t tile = 0; tile < tiles_; ++tile) {
                    const std::int64_t j = l_.n * tile / tiles_, w = l_.n * (tile + 1) / tiles_ - j;
                    const C* p = parameter ? parameter + unit * l_.n + j : nullptr;
                    columns(x, at + j, 0, lines_, w, p, sums);
                    finish(unit * l_.n + j, w, static_cast<const W*>(sums), p);
                }
            }
        } else if (l_.outer_reduced_count == 1 && l_.n <= piece_) {
            short_rows(x, begin, end, parameter, finish);
        } else {
            for (std::int64_t i = begin; i < end; ++i) {
                const C* p = parameter ? parameter + i : nullptr;
                const W sum = stretch(x, l_.kept_offset(i), 0, lines_, p);
                finish(i, std::int64_t{1}, &sum, p);
            }
        }
    }

private:
    static constexpr std::int64_t block = 2048;     // elements that are read and mapped at a time
    static constexpr std::int64_t piece_rows = 256; // added up without a wider sum
    static constexpr std::int64_t most_parts = 64;
    static constexpr std::int64_t most_columns = 16384 / static_cast<std::int64_t>(sizeof(C));
    static constexpr std::int64_t most_joined = 128; // columns of rows that are treated as one

    // Products are rare: they have loops for the least instruction set only.
    static reduction_loops<C> loops_for(combination how) {
        if (how == combination::product) return simd::baseline::product_loops_of<C>();
        return TENON_SIMD_BEST(reduction_loops_of<C>(how));
    }

    // Rows begin .. end-1 of n <= piece_ elements, which follow each other.
    void short_rows(const void* x, std::int64_t begin, std::int64_t end, const C* parameter,
                    finish_function finish) const {
        constexpr std::int64_t most = 512;
        C found[most];
        W sums[most];
        C buffer[block];
        const bool mapped = mapped_.rows && l_.n >= 64; // each row is folded by itself: not worth it for short ones
        std::int64_t batch = direct_ || mapped || l_.n == 0 ? most : block / l_.n;
        if (batch > most) batch = most;
        for (std::int64_t i = begin; i < end; i += batch) {
            const std::int64_t count = end - i < batch ? end - i : batch;
            const std::byte* at = source_.at(x, i * l_.n);
            const C* values = static_cast<const C*>(static_cast<const void*>(at));
            if (mapped) mapped_.rows(values, count, l_.n, parameter ? parameter + i : nullptr, found);
            else if (!direct_ && !parameter) values = source_.block(at, count * l_.n, nullptr, 0, buffer);
            else if (!direct_) {
                for (std::int64_t k = 0; k < count; ++k)
                    source_.block(source_.at(x, (i + k) * l_.n), l_.n, parameter + i + k, 0, buffer + k * l_.n);
                values = buffer;
            }
            if (!mapped) loops_.rows(values, count, l_.n, found);
            loops_.widen(found, sums, count, true);
            finish(i, count, static_cast<const W*>(sums), parameter ? parameter + i : nullptr);
        }
    }

    // Elements begin .. end-1 of one output whose inner dimension is reduced.
    W stretch(const void* x, std::int64_t offset, std::int64_t begin, std::int64_t end, const C* parameter) const {
        W sum = identity_of<W>(how_);
        std::int64_t row = l_.n > 0 ? begin / l_.n : 0, at = begin - row * l_.n;
        C buffer[block];
        while (begin < end) {
            std::int64_t count = end - begin;
            if (count > l_.n - at) count = l_.n - at;
            if (count > piece_) count = piece_;
            const std::byte* from = source_.at(x, offset + l_.reduced_offset(row) + at);
            C found;
            if (mapped_.rows)
                mapped_.rows(static_cast<const C*>(static_cast<const void*>(from)), 1, count, parameter, &found);
            else loops_.rows(source_.block(from, count, parameter, 0, buffer), 1, count, &found);
            sum = combine_two(how_, sum, static_cast<W>(found));
            begin += count;
            if ((at += count) == l_.n) {
                at = 0;
                ++row;
            }
        }
        return sum;
    }

    // Rows first .. last-1 of `width` columns.
    void columns(const void* x, std::int64_t offset, std::int64_t first, std::int64_t last, std::int64_t width,
                 const C* parameter, W* out) const {
        C found[most_columns], buffer[block], repeated[most_joined];
        // Narrow rows that follow each other are one wide row.
        const std::int64_t target = 8 * loops_.lanes;
        const std::int64_t joined = width == l_.n && width > 0 && 2 * width <= target ? target / width : 1;
        if (parameter && joined > 1)
            for (std::int64_t k = 0; k < joined * width; ++k) repeated[k] = parameter[k % width];
        bool fresh = true;
        while (first < last) {
            const std::int64_t outer = first / l_.rows, row = first % l_.rows;
            std::int64_t count = last - first;
            if (count > l_.rows - row) count = l_.rows - row;
            const std::int64_t together = count >= 2 * joined ? joined : 1, wide = together * width;
            std::int64_t most = piece_rows * together;
            if (buffered_ && most > block / width) most = block / width;
            if (count > most) count = most;
            count -= count % together;
            const std::byte* at = source_.at(x, offset + l_.reduced_offset(outer) + row * l_.n);
            const C* values = static_cast<const C*>(static_cast<const void*>(at));
            const C* p = together > 1 && parameter ? repeated : parameter;
            if (buffered_) {
                for (std::int64_t r = 0; r < count; r += together)
                    source_.block(source_.at(at, r * l_.n), wide, p, 1, buffer + r * width);
                values = buffer;
            }
            const std::int64_t stride = buffered_ ? wide : together * l_.n;
            if (mapped_.columns) mapped_.columns(values, count / together, stride, wide, p, found);
            else loops_.columns(values, count / together, stride, wide, found);
            for (std::int64_t k = 0; k < wide; k += width, fresh = false) loops_.widen(found + k, out, width, fresh);
            first += count;
        }
        for (std::int64_t j = 0; fresh && j < width; ++j) out[j] = identity_of<W>(how_);
    }

    reduction_layout l_;
    combination how_;
    reduction_source<C> source_;
    reduction_loops<C> loops_;
    mapped_loops<C> mapped_;
    bool direct_ = true, buffered_ = false;
    std::int64_t piece_ = 0, tile_limit_ = 0, tiles_ = 1, parts_ = 1;
    std::int64_t lines_ = 0; // elements (rows, when the inner dimension is kept) that are combined
};

} // namespace tenon::reducing
