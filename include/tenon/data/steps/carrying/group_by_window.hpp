#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/data/steps/pipeline.hpp>

/// Elements put together by a key.

namespace tenon::detail {

/// The elements of the data sets that `f` makes of a key and a window: so many elements of this key that followed one another, as `size`
/// says when the first of them comes. A window is gone through when it is full, and what is left in the end by key, the smallest first.
data_node::pointer grouped(data_node::pointer from, std::vector<tensor_type> types,
                           shared_function<std::int64_t(const data_element&)> key,
                           shared_function<std::int64_t(std::int64_t)> size,
                           shared_function<data_node::pointer(std::int64_t, data_node::pointer)> f);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/carrying/group_by_window.ipp>
#endif
