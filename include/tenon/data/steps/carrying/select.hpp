#pragma once

#include <cstdint>
#include <vector>

#include <tenon/data/steps/pipeline.hpp>

/// Elements by their numbers.

namespace tenon::detail {

/// Those at these places of one that has places, in this order; one may come several times.
data_node::pointer selected(data_node::pointer from, std::vector<std::int64_t> places);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/carrying/select.ipp>
#endif
