#pragma once

#include <cstdint>

#include <tenon/op/kernel.hpp>

/// The sizes of attention as its kernels have them.

namespace tenon::detail {

struct attention_sizes {
    std::int64_t batch = 1, heads = 1, key_heads = 1; ///< key_heads divides heads
    std::int64_t queries = 0, keys = 0;
    std::int64_t size = 0, value_size = 0; ///< of a query and a key; of a value
    double scale = 1;
    bool causal = false;
};

/// Of a node of attention or of its gradient.
attention_sizes sizes_of_attention(const kernel_setup& s);

} // namespace tenon::detail
