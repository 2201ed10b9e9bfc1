#pragma once

#include <tenon/core/shared_function.hpp>
#include <tenon/data/steps/pipeline.hpp>

/// The beginning of a data set, as far as a condition holds.

namespace tenon::detail {

/// The elements before the first for which f gives false; none behind it is made.
data_node::pointer taken_while(data_node::pointer from, shared_function<bool(const data_element&)> f);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/carrying/take_while.ipp>
#endif
