#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <tenon/ops/gradients.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/shape/movement.hpp>

#include "attention_formula.hpp"

/// Attention whose operands, results and gradients lie with their axes in orders that are drawn: what nobody is to copy.

namespace tenon::test {

/// Axis d of the result is axis order[d] of `a`.
inline any_array permuted(const any_array& a, const index_list& order) {
    extents sizes;
    for (const std::int64_t axis : order) sizes.push_back(a.extents()[static_cast<int>(axis)]);
    any_array made(a.element(), sizes);
    const std::size_t bytes = size_of(a.element());
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        std::int64_t at[max_rank]{}, rest = i, to = 0;
        for (int d = a.rank(); d-- > 0; rest /= a.extents()[d].size) at[d] = rest % a.extents()[d].size;
        for (int d = 0; d < order.count; ++d) to = to * sizes[d].size + at[order[d]];
        std::memcpy(static_cast<std::byte*>(made.data()) + static_cast<std::size_t>(to) * bytes,
                    static_cast<const std::byte*>(a.data()) + static_cast<std::size_t>(i) * bytes, bytes);
    }
    return made;
}
inline index_list inverse_order(const index_list& order) {
    index_list inverse = order;
    for (int d = 0; d < order.count; ++d) inverse.values[order[d]] = d;
    return inverse;
}

/// Of q, k, v, dy, and of y and the gradients as they leave: of [batch, heads, positions, size] the last stays the last.
struct attention_orders {
    index_list in[4], out[4];
    explicit attention_orders(std::mt19937& random) {
        for (auto* const lists : {in, out})
            for (int k = 0; k < 4; ++k) {
                int axes[] = {0, 1, 2};
                std::shuffle(axes, axes + 3, random);
                lists[k] = index_list(axes[0], axes[1], axes[2], 3);
            }
    }
    /// What is transposed to operand `k` of attention.
    any_array lying(int k, const any_array& operand) const { return permuted(operand, inverse_order(in[k])); }
};

/// y and the gradients of q, k and v, all transposed, from q, k, v, dy as they lie, and key lengths where there are some.
inline std::vector<any_tensor> attended_in_orders(const std::vector<any_tensor>& lying, const attention_orders& orders,
                                                  const attention_op::attributes& how) {
    std::vector<any_tensor> in, out;
    for (int k = 0; k < 4; ++k) in.push_back(untyped::transpose(lying[static_cast<std::size_t>(k)], orders.in[k]));
    const any_tensor y = lying.size() > 4 ? untyped::attention(in[0], in[1], in[2], lying[4], how)
                                          : untyped::attention(in[0], in[1], in[2], how);
    out.push_back(untyped::transpose(y, orders.out[0]));
    const std::vector<any_tensor> gradients = tenon::detail::add_gradients({y}, {in[0], in[1], in[2]}, {in[3]});
    for (std::size_t k = 0; k < 3; ++k) out.push_back(untyped::transpose(gradients[k], orders.out[k + 1]));
    return out;
}

/// A problem of any sizes.
inline attention_problem drawn_problem(std::mt19937& random, int most) {
    const auto any = [&](int n) { return 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    attention_problem p{
        .batch = any(3), .key_heads = any(3), .n = any(most), .m = any(most), .d = any(20), .e = any(20)};
    p.heads = p.key_heads * any(3);
    p.causal = random() % 2 == 0;
    for (std::int64_t b = 0; b < p.batch && random() % 3 == 0; ++b)
        for (p.lengths.clear(); static_cast<std::int64_t>(p.lengths.size()) < p.batch;)
            p.lengths.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(p.m + 1)));
    return p;
}

} // namespace tenon::test
