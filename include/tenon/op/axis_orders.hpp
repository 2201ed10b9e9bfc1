#pragma once

#include <cstdint>
#include <vector>

#include <tenon/dense/strided_copy.hpp>
#include <tenon/op/op_definition.hpp>

/// Operands and results whose axes lie in another order than that of their dimensions: order[d] is the axis that is dimension d. Those of an op
/// of op_flags::any_order may, which have as many dimensions as its input 0: the last axis stays the last, and those before the last three
/// dimensions follow one another. The attribute `orders`, which plans alone give it, has all axes of all inputs, then of all outputs.

namespace tenon::detail {

inline index_list axes_as_they_lie(int rank) {
    index_list order;
    for (int d = 0; d < rank; ++d) order.push_back(d);
    return order;
}

constexpr bool is_taken(const index_list& order) {
    const int r = order.count;
    bool taken = r > 1 && order[r - 1] == r - 1;
    for (int d = 0; d + 4 < r; ++d) taken = taken && order[d + 1] == order[d] + 1;
    return taken;
}

/// The attribute `orders` by operand, of which each has this many axes; all as they lie, where there is none.
template <class Ranks> std::vector<index_list> orders_in(const attributes& a, const Ranks& ranks) {
    std::vector<index_list> orders;
    const bool are_said = a.find("orders") != nullptr;
    std::size_t at = 0;
    for (const int rank : ranks) {
        index_list& order = orders.emplace_back(axes_as_they_lie(rank));
        for (int d = 0; d < rank && are_said; ++d) order.values[d] = a.get<std::vector<std::int64_t>>("orders")[at++];
    }
    return orders;
}
inline void set_orders(attributes& a, const std::vector<index_list>& orders) {
    std::vector<std::int64_t> all;
    for (const index_list& order : orders) all.insert(all.end(), order.begin(), order.end());
    a.set("orders", std::move(all));
}

/// A tensor as an op has it: sizes, and by dimension how many elements it is to the next.
struct ordered_tensor {
    extents sizes;
    index_list steps;
};
/// Those of a kernel: inputs, then outputs.
inline std::vector<ordered_tensor> ordered_tensors(const kernel_setup& s) {
    std::vector<extents> lying;
    std::vector<int> ranks;
    for (const type_list& types : {s.inputs, s.outputs})
        for (const tensor_type& t : types) {
            lying.push_back(t.extents);
            ranks.push_back(t.extents.rank());
        }
    const std::vector<index_list> orders = orders_in(s.attrs, ranks);
    std::vector<ordered_tensor> all(lying.size());
    for (std::size_t k = 0; k < lying.size(); ++k) {
        const row_major_steps steps(lying[k]);
        for (const std::int64_t axis : orders[k]) {
            all[k].sizes.push_back(lying[k][static_cast<int>(axis)]);
            all[k].steps.push_back(steps[static_cast<int>(axis)]);
        }
    }
    return all;
}

} // namespace tenon::detail
