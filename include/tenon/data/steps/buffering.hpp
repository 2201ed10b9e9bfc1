#pragma once

#include <cstdint>

#include <tenon/data/steps/pipeline.hpp>

/// Steps that take elements ahead.

namespace tenon::detail {

/// A thread of its own takes elements ahead of who asks for them, `n` at most; autotune: as many as it takes that they are there
/// in time, within the memory of data_options.
data_node::pointer prefetched(data_node::pointer from, std::int64_t n);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/buffering.ipp>
#endif
