#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/half.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/resources/cached_rows.hpp>

namespace tenon {

TENON_INLINE cached_rows::cached_rows(std::string name, cached_rows_description d) : name_(std::move(name)), is_(d) {
    for (int i = 1; i < is_.table.extents.rank(); ++i) row_elements_ *= is_.table.extents[i].size;
    row_bytes_ = static_cast<std::size_t>(row_elements_) * size_of(is_.table.element);
    constexpr std::int64_t chunk_bytes = 1 << 18;
    chunk_rows_ =
        std::clamp<std::int64_t>(chunk_bytes / std::max<std::int64_t>(static_cast<std::int64_t>(row_bytes_), 1), 1,
                                 std::max<std::int64_t>(is_.capacity, 1));
}

TENON_INLINE void cached_rows::describe(resource_info& to) const {
    const cached_rows_counts c = counts();
    to.description = std::to_string(c.held) + " of " + std::to_string(is_.capacity) + " rows of " +
                     to_string(is_.table) + ", " + std::to_string(is_.staleness) + " steps; " + std::to_string(c.hits) +
                     " hits, " + std::to_string(c.misses + c.stale) + " rows asked for";
    const std::lock_guard lock(guard_);
    for (const any_array& a : chunks_) to.bytes += a.bytes();
}

TENON_INLINE std::byte* cached_rows::bytes_of(std::int64_t at) noexcept {
    any_array& chunk = chunks_[static_cast<std::size_t>(at / chunk_rows_)];
    return static_cast<std::byte*>(chunk.data()) + static_cast<std::size_t>(at % chunk_rows_) * row_bytes_;
}
TENON_INLINE void cached_rows::take_out(std::int64_t at) noexcept {
    const slot& s = slots_[static_cast<std::size_t>(at)];
    (s.before >= 0 ? slots_[static_cast<std::size_t>(s.before)].after : first_) = s.after;
    (s.after >= 0 ? slots_[static_cast<std::size_t>(s.after)].before : last_) = s.before;
}
TENON_INLINE void cached_rows::put_first(std::int64_t at) noexcept {
    slot& s = slots_[static_cast<std::size_t>(at)];
    s.before = -1;
    s.after = first_;
    (first_ >= 0 ? slots_[static_cast<std::size_t>(first_)].before : last_) = at;
    first_ = at;
}

TENON_INLINE cached_rows::found cached_rows::find(std::uint64_t step, const std::vector<std::int64_t>& indices,
                                                  std::byte* rows) {
    found f;
    f.from.assign(indices.size(), -1);
    std::unordered_map<std::int64_t, std::int64_t> asked; // places among the missing
    const std::lock_guard lock(guard_);
    if (step != step_) ++time_;
    step_ = step;
    f.time = time_;
    f.changes = changes_;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const auto at = slot_of_.find(indices[i]);
        if (at != slot_of_.end() && time_ - slots_[static_cast<std::size_t>(at->second)].read <= is_.staleness) {
            if (row_bytes_ > 0) std::memcpy(rows + i * row_bytes_, bytes_of(at->second), row_bytes_);
            take_out(at->second);
            put_first(at->second);
            ++counts_.hits;
            counts_.saved += static_cast<std::int64_t>(row_bytes_);
            continue;
        }
        const auto [place, first] = asked.emplace(indices[i], static_cast<std::int64_t>(f.missing.size()));
        f.from[i] = place->second;
        if (first) {
            f.missing.push_back(indices[i]);
            ++(at == slot_of_.end() ? counts_.misses : counts_.stale);
        } else counts_.saved += static_cast<std::int64_t>(row_bytes_); // it comes once
    }
    return f;
}

// A slot that is nobody's.
TENON_INLINE std::int64_t cached_rows::make_room() {
    if (!free_.empty()) {
        const std::int64_t at = free_.back();
        free_.pop_back();
        return at;
    }
    const auto made = static_cast<std::int64_t>(slots_.size());
    if (made < is_.capacity) {
        if (made % chunk_rows_ == 0) {
            tensor_type rows = is_.table;
            rows.extents[0] = extent(std::min(chunk_rows_, is_.capacity - made));
            chunks_.emplace_back(rows.element, rows.extents);
        }
        slots_.emplace_back();
        return made;
    }
    const std::int64_t at = last_;
    slot_of_.erase(slots_[static_cast<std::size_t>(at)].row);
    take_out(at);
    ++counts_.evicted;
    return at;
}

TENON_INLINE void cached_rows::keep(const std::int64_t* missing, std::int64_t count, std::int64_t time,
                                    std::int64_t changes, const std::byte* rows) {
    const std::lock_guard lock(guard_);
    if (changes != changes_ || is_.capacity == 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto known = slot_of_.find(missing[i]);
        const bool is_known = known != slot_of_.end();
        if (is_known && slots_[static_cast<std::size_t>(known->second)].read > time) continue;
        const std::int64_t at = is_known ? known->second : make_room();
        if (is_known) take_out(at);
        slot& s = slots_[static_cast<std::size_t>(at)];
        s.row = missing[i];
        s.read = time;
        slot_of_[missing[i]] = at;
        put_first(at);
        if (row_bytes_ > 0) std::memcpy(bytes_of(at), rows + static_cast<std::size_t>(i) * row_bytes_, row_bytes_);
    }
}

TENON_INLINE void cached_rows::change(const std::vector<std::int64_t>& indices, const void* gradient) {
    const std::lock_guard lock(guard_);
    ++changes_;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const auto at = slot_of_.find(indices[i]);
        if (at == slot_of_.end()) continue;
        if (is_.write_through == 0) {
            take_out(at->second);
            free_.push_back(at->second);
            slot_of_.erase(at);
            continue;
        }
        detail::with_element(is_.table.element, [&]<class T>(const T&) {
            if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, half> ||
                          std::is_same_v<T, bfloat16>) {
                using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
                T* const row = reinterpret_cast<T*>(bytes_of(at->second));
                const T* const g = static_cast<const T*>(gradient) + i * static_cast<std::size_t>(row_elements_);
                const C rate = static_cast<C>(is_.write_through);
                for (std::int64_t e = 0; e < row_elements_; ++e)
                    row[e] = T(static_cast<C>(row[e]) - rate * static_cast<C>(g[e]));
            }
        });
    }
}

TENON_INLINE void cached_rows::clear() {
    const std::lock_guard lock(guard_);
    ++changes_;
    chunks_.clear();
    slots_.clear();
    free_.clear();
    slot_of_.clear();
    first_ = last_ = -1;
}

TENON_INLINE cached_rows_counts cached_rows::counts() const {
    const std::lock_guard lock(guard_);
    cached_rows_counts c = counts_;
    c.held = static_cast<std::int64_t>(slot_of_.size());
    return c;
}

} // namespace tenon
