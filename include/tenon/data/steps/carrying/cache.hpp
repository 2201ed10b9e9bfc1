#pragma once

#include <string>

#include <tenon/data/steps/pipeline.hpp>

/// Elements that are kept.

namespace tenon::detail {

/// What was gone through once to its end is not computed again: in memory, or in the file `path`, which later programs read too.
data_node::pointer cached(data_node::pointer from, const std::string& path);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/carrying/cache.ipp>
#endif
