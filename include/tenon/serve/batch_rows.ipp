#pragma once

#include <tenon/core/array/copy_elements.hpp>
#include <tenon/serve/batch_rows.hpp>

namespace tenon::detail {

TENON_INLINE any_array joined_rows(const std::vector<const any_array*>& parts, std::int64_t rows) {
    const any_array& first = *parts.front();
    if (parts.size() == 1 && first.extents()[0].size == rows) return first.share();
    extents sizes = first.extents();
    sizes[0] = extent(rows);
    any_array all(first.element(), sizes);
    const std::int64_t in_row = first.elements() / first.extents()[0].size;
    const auto copy = [&](std::int64_t at, const any_array& from, std::int64_t count) {
        copy_elements(first.element(), all.data(), at, from.data(), 0, count);
    };
    std::int64_t at = 0;
    for (const any_array* p : parts) {
        copy(at, *p, p->elements());
        at += p->elements();
    }
    for (; at < all.elements(); at += in_row) copy(at, first, in_row);
    return all;
}

TENON_INLINE any_array copied_rows(any_array& of, std::int64_t begin, std::int64_t end) {
    return of.slice(begin, end).copy();
}

} // namespace tenon::detail
