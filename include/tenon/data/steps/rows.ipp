#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include <tenon/data/steps/rows.hpp>

namespace tenon::detail {

TENON_INLINE void gather_rows(const any_array& from, const std::int64_t* order, std::int64_t count, any_array& to) {
    const std::int64_t row = from.elements() / std::max<std::int64_t>(1, from.extents()[0].size);
    if (from.element() == element_type::string) {
        const auto* source = from.data<std::string>();
        auto* out = to.data<std::string>();
        for (std::int64_t i = 0; i < count; ++i) out = std::copy_n(source + order[i] * row, row, out);
        return;
    }
    const std::size_t bytes = static_cast<std::size_t>(row) * size_of(from.element());
    const auto* source = static_cast<const std::byte*>(from.data());
    auto* out = static_cast<std::byte*>(to.data());
    if (bytes == 0) return;
    // Rows lie anywhere in memory: ask for one a little before its turn.
    constexpr std::int64_t ahead = 4;
    for (std::int64_t i = 0; i < count; ++i, out += bytes) {
        if (i + ahead < count) __builtin_prefetch(source + static_cast<std::size_t>(order[i + ahead]) * bytes);
        std::memcpy(out, source + static_cast<std::size_t>(order[i]) * bytes, bytes);
    }
}

TENON_INLINE any_array with_room(any_array from, std::int64_t count, std::int64_t room) {
    extents sizes = from.extents();
    const std::int64_t row = from.elements() / std::max<std::int64_t>(1, sizes[0].size);
    sizes[0] = extent(room);
    any_array to(from.element(), sizes);
    if (from.element() == element_type::string)
        std::move(from.data<std::string>(), from.data<std::string>() + count * row, to.data<std::string>());
    else if (count * row > 0)
        std::memcpy(to.data(), from.data(), static_cast<std::size_t>(count * row) * size_of(from.element()));
    return to;
}

} // namespace tenon::detail
