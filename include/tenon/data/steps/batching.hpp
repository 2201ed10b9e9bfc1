#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/data/steps/pipeline.hpp>

/// Steps that put elements together and take them apart. Each throws invalid_argument_error for numbers that make no sense.

namespace tenon::detail {

/// n of them along a new dimension 0; the last may be smaller, unless it is dropped. Without padding their sizes must be equal:
/// invalid_argument_error in next(), naming both. `sizes`: what the types say of n.
data_node::pointer batched(data_node::pointer from, std::int64_t n, bool drop_remainder, extent size);
/// Each component is filled up to the largest sizes, with zeros, or with its array of `fill`, which has one element.
data_node::pointer padded_batched(data_node::pointer from, std::int64_t n, bool drop_remainder, extent size,
                                  std::vector<any_array> fill);
/// Batches of elements whose lengths lie between the same two boundaries: of bucket i, batch_sizes[i] of them; there is one more
/// batch size than boundaries. Padded. What is left in the end comes by bucket.
data_node::pointer bucketed(data_node::pointer from, std::vector<std::int64_t> boundaries,
                            std::vector<std::int64_t> batch_sizes,
                            shared_function<std::int64_t(const data_element&)> length, bool drop_remainder, extent size,
                            std::vector<any_array> fill);
/// The elements along dimension 0, which is as long in all components.
data_node::pointer unbatched(data_node::pointer from);
/// n elements along a new dimension 0, `stride` apart; the next window begins `shift` further.
data_node::pointer windowed(data_node::pointer from, std::int64_t n, std::int64_t shift, std::int64_t stride,
                            bool drop_remainder, extent size);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/batching.ipp>
#endif
