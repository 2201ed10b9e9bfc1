#pragma once

#include <cstdint>

#include <tenon/core/any_array.hpp>

namespace tenon::detail {

/// Rows order[0] .. order[count-1] of `from` to the first rows of `to`.
void gather_rows(const any_array& from, const std::int64_t* order, std::int64_t count, any_array& to);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/rows.ipp>
#endif
