#pragma once

#include <cstdint>

/// For device code: where the rows of one key are in a sorted list, and how they are shared out.

namespace tenon::cuda {

/// The end of the stretch of equal keys that begins at or holds `in`, of `count` keys that lie `stride` apart. Short ones are found in
/// few steps.
template <class K>
__device__ std::int64_t end_of_equal(const K* keys, std::int64_t in, std::int64_t count, std::int64_t stride = 1) {
    const K key = keys[in * stride];
    std::int64_t step = 1; // keys[in] is equal
    while (in + step < count && keys[(in + step) * stride] == key) {
        in += step;
        step *= 2;
    }
    std::int64_t out = in + step < count ? in + step : count; // keys[out], if any, is not
    while (out - in > 1) {
        const std::int64_t middle = in + (out - in) / 2;
        if (keys[middle * stride] == key) in = middle;
        else out = middle;
    }
    return out;
}

/// Where that stretch begins.
template <class K> __device__ std::int64_t begin_of_equal(const K* keys, std::int64_t in, std::int64_t stride = 1) {
    const K key = keys[in * stride];
    std::int64_t step = 1;
    while (in - step >= 0 && keys[(in - step) * stride] == key) {
        in -= step;
        step *= 2;
    }
    std::int64_t out = in - step >= 0 ? in - step : -1;
    while (in - out > 1) {
        const std::int64_t middle = out + (in - out) / 2;
        if (keys[middle * stride] == key) in = middle;
        else out = middle;
    }
    return in;
}

/// A key's rows are summed in runs of at most twice so many. A key that has no more is summed in one.
inline constexpr std::int64_t run_rows = 128;

/// Rows of one key that stand together in the list: what one thread sums of a column.
struct key_run {
    std::int64_t begin = 0, end = 0; ///< none where they are the same
    bool is_whole = false;           ///< all that the key has
};

/// How a list of n sorted keys is cut into runs. The sums of a level are the rows of the next, where run_rows times fewer keys are
/// looked at: the first of every run_rows. So a long key has a row there for each of its runs, and a short one none or one, which is
/// already summed. The last level has whole keys alone.
template <class K> struct key_runs {
    const K* keys;
    std::int64_t n, stride;

    __host__ __device__ constexpr bool is_last() const { return n <= 2 * run_rows; }
    __host__ __device__ constexpr std::int64_t next_rows() const {
        return is_last() ? 0 : (n + run_rows - 1) / run_rows;
    }
    __host__ __device__ constexpr key_runs next() const { return {keys, next_rows(), stride * run_rows}; }
    __device__ K key(std::int64_t i) const { return keys[i * stride]; }

    /// The run that row i has the sum of: of a whole key that is its first row, else one whose number is a multiple of run_rows.
    __device__ key_run at(std::int64_t i) const {
        const bool is_first = i == 0 || key(i - 1) != key(i), is_multiple = !is_last() && i % run_rows == 0;
        if (!is_first && !is_multiple) return {};
        const std::int64_t begin = is_first ? i : begin_of_equal(keys, i, stride),
                           end = end_of_equal(keys, i, n, stride);
        const std::int64_t multiple = (begin + run_rows - 1) / run_rows * run_rows; // the key's first
        if (is_last() || multiple + run_rows >= end) {
            const bool is_summed = stride > 1 && end - begin == 1;
            return !is_first || is_summed ? key_run{} : key_run{begin, end, true};
        }
        if (!is_multiple) return {};
        return {i == multiple ? begin : i, i + run_rows < end ? i + run_rows : end, false};
    }
};

/// How many rows the sums of all levels but the last are, of a list of n.
constexpr std::int64_t rows_of_sums(std::int64_t n) {
    std::int64_t rows = 0;
    for (key_runs<std::uint32_t> level{nullptr, n, 1}; !level.is_last(); level = level.next())
        rows += level.next_rows();
    return rows;
}

} // namespace tenon::cuda
