#pragma once

#include <cstdint>

#include <tenon/core/sizes/extents.hpp>

/// Where rows of a tensor are that indices name, each by a tuple of its own.

namespace tenon {

/// Named row i is row `base(i)` + the sum of steps[k] * index k of its tuple, of indices number depth * i .. depth * i + depth - 1.
struct indexed_rows {
    std::int64_t count = 1;      ///< of named rows
    std::int64_t rows = 1;       ///< of the tensor
    std::int64_t elements = 1;   ///< of a row
    std::int64_t per_batch = 1;  ///< named rows of a batch
    std::int64_t batch_rows = 1; ///< rows that a batch has of the tensor
    std::int64_t beside = 1;     ///< named rows that come side by side in both
    int depth = 1;
    int axis = 0;                                      ///< of the tensor, of the first index of a tuple
    std::int64_t sizes[max_rank]{}, steps[max_rank]{}; ///< of each index of a tuple: what it is below, rows to the next

    constexpr std::int64_t base(std::int64_t i) const { return i / per_batch * batch_rows + i % beside; }
    /// Where row i is, or -1 - k where index k of its tuple is out of range.
    template <class I> constexpr std::int64_t find(const I* indices, std::int64_t i) const {
        std::int64_t row = base(i);
        for (int k = 0; k < depth; ++k) {
            const auto index = static_cast<std::int64_t>(indices[i * depth + k]);
            if (index < 0 || index >= sizes[k]) return -1 - k;
            row += index * steps[k];
        }
        return row;
    }
};

} // namespace tenon
