#pragma once

#include <vector>

#include <tenon/core/array/any_array.hpp>

/// Rows of several requests in one batch, and back.

namespace tenon::detail {

/// The parts one after another along dimension 0, filled up to `rows` by their first row again and again. Of one part that is as long, it.
any_array joined_rows(const std::vector<const any_array*>& parts, std::int64_t rows);
/// Rows begin .. end-1 in memory of their own.
any_array copied_rows(any_array& of, std::int64_t begin, std::int64_t end);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/serve/batch_rows.ipp>
#endif
