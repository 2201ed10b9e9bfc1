#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

/// The sizes of attention as its kernels have them, and where its tensors lie. Device code reads this.

namespace tenon {
struct kernel_setup;
} // namespace tenon

namespace tenon::detail {

/// A tensor [batch, heads, rows, n], whose rows are dense: from one to the next of each, in elements.
struct attention_steps {
    std::int64_t batch = 0, head = 0, row = 0;
};

struct attention_sizes {
    std::int64_t batch = 1, heads = 1, key_heads = 1; ///< key_heads divides heads
    std::int64_t queries = 0, keys = 0;
    std::int64_t size = 0, value_size = 0; ///< of a query and a key; of a value
    double scale = 1;
    bool causal = false, masked = false;
    attention_steps q, k, v, y;     ///< y: the output
    attention_steps dy, dq, dk, dv; ///< of the gradient

    /// Dense tensors, in this order of dimensions.
    constexpr void lie_densely() {
        const auto dense = [](std::int64_t all_heads, std::int64_t rows, std::int64_t n) {
            return attention_steps{all_heads * rows * n, rows * n, n};
        };
        q = dq = dense(heads, queries, size);
        k = dk = dense(key_heads, keys, size);
        v = dv = dense(key_heads, keys, value_size);
        y = dy = dense(heads, queries, value_size);
    }
};

/// Of a node of attention or of its gradient.
attention_sizes sizes_of_attention(const kernel_setup& s);

} // namespace tenon::detail
