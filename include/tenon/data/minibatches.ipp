#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include <tenon/data/minibatches.hpp>

namespace tenon::detail {

// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
class shuffle_generator {
public:
    shuffle_generator(std::uint64_t seed, std::uint64_t epoch) : state_(seed) {
        state_ = next() ^ epoch * 0x9E3779B97F4A7C15U;
        state_ = next();
    }
    // Uniform in 0 .. n-1: the numbers that would favour the small ones are thrown away.
    std::uint64_t below(std::uint64_t n) {
        const std::uint64_t unfair = (0 - n) % n;
        for (;;)
            if (const std::uint64_t r = next(); r >= unfair) return r % n;
    }

private:
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
        z = (z ^ z >> 27) * 0x94D049BB133111EBU;
        return z ^ z >> 31;
    }
    std::uint64_t state_;
};

TENON_INLINE void shuffle_rows(std::vector<std::int64_t>& order, std::int64_t rows, std::uint64_t seed,
                               std::uint64_t epoch) {
    order.resize(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    shuffle_generator random(seed, epoch);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

TENON_INLINE void gather_rows(const any_array& from, const std::int64_t* order, std::int64_t count, any_array& to) {
    const std::int64_t row = from.elements() / from.extents()[0].size;
    if (from.element() == element_type::string) {
        const auto* source = from.data<std::string>();
        auto* out = to.data<std::string>();
        for (std::int64_t i = 0; i < count; ++i) out = std::copy_n(source + order[i] * row, row, out);
        return;
    }
    const std::size_t bytes = static_cast<std::size_t>(row) * size_of(from.element());
    const auto* source = static_cast<const std::byte*>(from.data());
    auto* out = static_cast<std::byte*>(to.data());
    if (bytes == 0) return;
    // Rows lie anywhere in memory: ask for one a little before its turn.
    constexpr std::int64_t ahead = 4;
    for (std::int64_t i = 0; i < count; ++i, out += bytes) {
        if (i + ahead < count) __builtin_prefetch(source + static_cast<std::size_t>(order[i + ahead]) * bytes);
        std::memcpy(out, source + static_cast<std::size_t>(order[i]) * bytes, bytes);
    }
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
