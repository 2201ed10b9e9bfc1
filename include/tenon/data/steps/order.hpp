#pragma once

#include <cstdint>
#include <vector>

#include <tenon/data/steps/pipeline.hpp>

/// Steps that choose elements and order them, and put data sets beside or behind each other. Of rows of arrays in memory only
/// places are moved, until a later step wants the elements. Each throws invalid_argument_error for numbers that make no sense.

namespace tenon::detail {

data_node::pointer skipped(data_node::pointer from, std::int64_t n);
data_node::pointer taken(data_node::pointer from, std::int64_t n);
/// Those whose number, from 0, is `index` modulo `count`.
data_node::pointer sharded(data_node::pointer from, std::int64_t count, std::int64_t index);
/// `times` over; -1: without end. One that gives nothing ends at once.
data_node::pointer repeated(data_node::pointer from, std::int64_t times);
/// Each element is chosen at random among the next `buffer` ones. `seed` 0: another one each time that it is made.
data_node::pointer shuffled(data_node::pointer from, std::int64_t buffer, std::uint64_t seed, bool each_epoch_anew);
data_node::pointer concatenated(data_node::pointer first, data_node::pointer second);
/// Tuples of the elements of each; it ends with the shortest.
data_node::pointer zipped(std::vector<data_node::pointer> all);
/// In front of each element its number, int64.
data_node::pointer enumerated(data_node::pointer from, std::int64_t first);
/// Each from one of them, chosen at random by weights; of one that has ended no more, and it ends when all have.
data_node::pointer sampled(std::vector<data_node::pointer> all, std::vector<double> weights, std::uint64_t seed);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/order.ipp>
#endif
