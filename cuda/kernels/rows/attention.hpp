#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <tenon/core/element_type.hpp>
#include <tenon/ops/rows/attention_sizes.hpp>

/// Scaled dot-product attention: formulas in tenon/ops/rows/attention.hpp. A block has some queries and goes over the keys, or some keys
/// and goes over the queries, so that memory is linear in both; sums are in the same order in every run. All pointers are on the device and
/// of float, double, half or bfloat16 elements unless said otherwise; logarithms are of the type that is computed in.

namespace tenon::cuda {

struct attention_layout : tenon::detail::attention_sizes {
    bool has_lengths = false;
    bool wide_lengths = false; ///< int64, else int32
    constexpr std::int64_t rows() const { return batch * heads * queries; }
    constexpr std::int64_t group() const { return key_heads == 0 ? 0 : heads / key_heads; }
};

/// Either result may be null. A length that is negative or more than there are keys counts as 0. `lengths` may be null where the layout has
/// none.
void attention(element_type element, const attention_layout& l, const void* q, const void* k, const void* v,
               const void* lengths, void* out, void* logs, void* stream);

/// For who computes with lengths of int32: how many keys each sequence has, then how many queries.
void narrow_lengths(const attention_layout& l, const void* lengths, std::int32_t* to, void* stream);
/// What queries give that see no key, of 16-bit elements: zeros, and -inf as logarithms, where a sequence has no keys, which others need not give.
/// `tensors`: y, or dq, dk and dv.
struct attention_tensor {
    void* data;
    tenon::detail::attention_steps by;
    std::int64_t heads, rows, size;
};
void clear_without_keys(const attention_layout& l, const void* lengths, std::initializer_list<attention_tensor> tensors,
                        float* logs, void* stream);

std::size_t attention_scratch_bytes(element_type element, const attention_layout& l); ///< of the gradient
/// The gradients of q, k and v. Any may be null.
void attention_gradient(element_type element, const attention_layout& l, const void* q, const void* k, const void* v,
                        const void* out, const void* logs, const void* dout, const void* lengths, void* dq, void* dk,
                        void* dv, std::byte* scratch, void* stream);

} // namespace tenon::cuda
