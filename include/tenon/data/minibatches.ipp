#pragma once

#include <algorithm>
#include <numeric>

#include <tenon/data/minibatches.hpp>
#include <tenon/data/steps/random_order.hpp>

namespace tenon::detail {

TENON_INLINE void shuffle_rows(std::vector<std::int64_t>& order, std::int64_t rows, std::uint64_t seed,
                               std::uint64_t epoch) {
    order.resize(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    order_generator random(seed, epoch);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

TENON_INLINE std::int64_t count_batches(const minibatch_options& options, const tensor_type* types, int count) {
    if (options.size < 1)
        throw invalid_argument_error("minibatches: a batch of " + std::to_string(options.size) +
                                     " rows; size must be 1 or more");
    for (int i = 0; i < count; ++i) {
        if (types[i].extents.rank() == 0)
            throw invalid_argument_error("minibatches: source " + std::to_string(i) + ", " + to_string(types[i]) +
                                         ", is a scalar and has no rows");
        if (!(types[i].extents[0] == types[0].extents[0]))
            throw invalid_argument_error("minibatches: source 0, " + to_string(types[0]) + ", and source " +
                                         std::to_string(i) + ", " + to_string(types[i]) +
                                         ", have different numbers of rows");
    }
    const std::int64_t rows = types[0].extents[0].size;
    const std::int64_t full = rows / options.size;
    const std::int64_t batches = options.drop_remainder || full * options.size == rows ? full : full + 1;
    if (batches == 0)
        throw invalid_argument_error("minibatches: " + std::to_string(rows) + " rows make no batch of " +
                                     std::to_string(options.size) +
                                     (rows > 0 ? "; use a smaller size or keep the remainder" : ""));
    return batches;
}

} // namespace tenon::detail
