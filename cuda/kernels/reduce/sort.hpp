#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// The steps of a stable sort of lines: keys, which cub_sort.hpp sorts, and what is read of their order.

namespace tenon::cuda {

/// Lines along an axis of [outer, n, inner].
struct sorted_lines {
    std::int64_t outer, n, inner;
    constexpr std::int64_t elements() const { return outer * n * inner; }
    constexpr std::int64_t lines() const { return outer * inner; }
    /// Where element i is, lines one after another.
    constexpr std::int64_t at(std::int64_t i) const {
        const std::int64_t line = i / n;
        return (line / inner * n + i % n) * inner + line % inner;
    }
};

/// keys[i] = the ordered_key of element i, lines one after another; above it, where keys are `wide` and x's elements are not of 8 bytes,
/// the number of its line. places[i] = i. Keys are of 8 bytes where they are wide or the elements are of 8.
void list_sort_keys(tenon::element_type e, const void* x, const sorted_lines& of, bool descending, bool wide,
                    void* keys, std::int64_t* places, void* stream);
/// keys[i] = the line that place i is of.
void list_line_keys(const std::int64_t* places, const sorted_lines& of, std::uint32_t* keys, void* stream);
/// Of all places, a line's after another's, in their order: the elements, and where they are in their lines. Either may be null.
void take_sorted(tenon::element_type e, const void* x, const sorted_lines& of, const std::int64_t* places, void* values,
                 std::int64_t* out, void* stream);

/// out[i] = how many elements of a sorted row of n are less than value i, or, with `right`, not larger; `per_row` values have one row.
void search_sorted(tenon::element_type e, const void* rows, std::int64_t n, const void* values, std::int64_t count,
                   std::int64_t per_row, bool right, std::int64_t* out, void* stream);

} // namespace tenon::cuda
