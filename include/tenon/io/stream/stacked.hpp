#pragma once

#include <vector>

#include <tenon/core/array/any_array.hpp>

/// Batches of arrays, and rows of which more come.

namespace tenon::detail {

/// One whose sizes differ from the first's; nullptr where there is none.
const any_array* of_other_sizes(const std::vector<const any_array*>& parts);

/// The arrays, which fit `type`, along a new dimension 0. Where their sizes differ each is filled up at its ends to the
/// largest size of each dimension, with zeros, false and empty strings, or with `fill`, which has one element. No parts: sizes that
/// are no numbers are 0. `to`: memory for it, taken anew where it is somebody else's too or of other sizes; nullptr: new.
any_array stacked(const tensor_type& type, const std::vector<const any_array*>& parts, const any_array* fill = nullptr,
                  any_array* to = nullptr);

/// The first `count` rows of `from`, which are moved, in memory for `room` of them.
any_array with_room(any_array from, std::int64_t count, std::int64_t room);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/stream/stacked.ipp>
#endif
