#pragma once

#include <cstdint>

#include <tenon/core/any_array.hpp>

namespace tenon::detail {

/// Rows order[0] .. order[count-1] of `from` to the first rows of `to`.
void gather_rows(const any_array& from, const std::int64_t* order, std::int64_t count, any_array& to);

/// Rows that a batch has room for at first; where more come, it has twice as many.
inline constexpr std::int64_t rows_at_first = 64;
/// The first `count` rows of `from`, which are moved, in memory for `room` of them.
any_array with_room(any_array from, std::int64_t count, std::int64_t room);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/rows.ipp>
#endif
