#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include <tenon/data/steps/file_walk.hpp>
#include <tenon/data/steps/rows.hpp>
#include <tenon/io/files/crc32c.hpp>
#include <tenon/io/records/buffered_records.hpp>

namespace tenon::detail {

TENON_INLINE const file_mark& row_file::mark() const {
    std::call_once(summed_, [this] {
        std::uint32_t sum = 0;
        for (const extent& e : rows_.extents()) sum = crc32c(std::as_bytes(std::span(&e.size, 1)), sum);
        mark_.checksum = crc32c({static_cast<const std::byte*>(rows_.data()), rows_.bytes()}, sum);
    });
    return mark_;
}

TENON_INLINE void row_places::save(state_writer& to) const {
    to.number(begun_ ? rows_.files.size() : 0);
    if (begun_)
        for (const auto& file : rows_.files) save_mark(to, {file->bytes(), 0, 0}, file->mark());
    places_->save(to);
}

TENON_INLINE void row_places::restore(state_reader& from) {
    begun_ = true;
    if (from.version() > 3) {
        // Rows of arrays that the program has are not held against what they were.
        const std::uint64_t files = from.number();
        begun_ = files > 0;
        const bool holds = files > 0 && !rows_.files.empty();
        if (holds && files != rows_.files.size()) from.damaged("its rows are of another number of files");
        for (std::uint64_t i = 0; i < files; ++i) {
            record_position at;
            file_mark was;
            restore_mark(from, at, was);
            if (!holds) continue;
            const row_file& file = *rows_.files[static_cast<std::size_t>(i)];
            require_same_file(from, file.path(), difference(was, file.mark(), !copied_));
        }
    }
    places_->restore(from);
}

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

TENON_INLINE void take_row(const data_rows& rows, std::int64_t i, std::vector<any_array>& x) {
    x.resize(rows.arrays.size());
    for (std::size_t c = 0; c < x.size(); ++c) {
        const any_array& all = rows.arrays[c];
        extents sizes = all.extents();
        sizes.erase(0);
        any_array& to = x[c];
        if (!to || !to.is_unique() || to.element() != all.element() || !(to.extents() == sizes))
            to = any_array(all.element(), sizes);
        gather_rows(all, &i, 1, to);
    }
}

} // namespace tenon::detail
