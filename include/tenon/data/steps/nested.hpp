#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/data/steps/pipeline.hpp>

/// Data sets made of each element of another.

namespace tenon::detail {

/// The data set that an element stands for: the same whenever it is asked.
using made_data_set = shared_function<data_node::pointer(const data_element&)>;

/// `cycle` of them at a time, `block` elements of each in turn; the next one takes the place of one that has ended, when it comes to
/// its turn. With cycle 1 they come one after another. `parallelism`: so many threads, who asks among them, go through those
/// that are open; the order is the same. autotune: as many as the pipeline may have.
data_node::pointer interleaved(const char* step, data_node::pointer from, std::vector<tensor_type> types,
                               made_data_set f, std::int64_t cycle, std::int64_t block, int parallelism);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/nested.ipp>
#endif
