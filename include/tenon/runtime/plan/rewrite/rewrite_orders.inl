#pragma once

#include <tenon/op/axis_orders.hpp>

// A part of runtime/plan/rewrite/rewrite.ipp: what is transposed for an op that takes its axes in any order, or after it, lies where it is.

namespace tenon::runtime::detail {

// The axes of a tensor that are the dimensions of one which has all its elements, in another order; none where it is another part of it.
inline index_list order_within(const extents& whole, const regular_part& part, const extents& seen) {
    const tenon::detail::row_major_steps steps(whole);
    index_list order;
    if (part.first != 0 || whole.rank() != seen.rank() || whole.elements() != seen.elements()) return order;
    unsigned taken = 0;
    for (int d = 0; d < seen.rank(); ++d)
        for (int axis = 0; axis < whole.rank(); ++axis) {
            if ((taken >> axis & 1U) != 0 || !(whole[axis] == seen[d]) || steps[axis] != part.strides[d]) continue;
            taken |= 1U << axis;
            order.push_back(axis);
            break;
        }
    return order.count == seen.rank() ? order : index_list{};
}
inline index_list order_of(const program& p, const program_item& transposes) {
    const extents &whole = p.value(transposes.inputs[0]).type.extents,
                  &seen = p.value(transposes.outputs[0]).type.extents;
    return order_within(whole, transposes.op->part(transposes.attributes, whole, seen), seen);
}
inline index_list inverse_of(const index_list& order) {
    index_list inverse = order;
    for (int d = 0; d < order.count; ++d) inverse.values[order[d]] = d;
    return inverse;
}
// Of what is seen in one order, which is itself seen in another.
inline index_list order_through(const index_list& outer, const index_list& inner) {
    index_list order = inner;
    for (int d = 0; d < inner.count; ++d) order.values[d] = outer[static_cast<int>(inner[d])];
    return order;
}

inline bool takes_orders(const program_item& i) {
    return !i.removed && i.op->is(op_flags::any_order) && i.predecessors.empty();
}

// The orders of an item's operands and results.
class item_orders {
public:
    item_orders(const program& p, program_item& i) : i_(&i) {
        std::vector<int> ranks;
        for (const number_list& values : {i.inputs, i.outputs})
            for (const int v : values) ranks.push_back(p.value(v).type.extents.rank());
        orders_ = tenon::detail::orders_in(i.attributes, ranks);
    }
    const index_list& operator[](std::size_t k) const { return orders_[k]; }
    std::size_t result(std::size_t o) const { return i_->inputs.size() + o; }
    bool may_be(std::size_t k, const index_list& order) const {
        return order.count > 0 && orders_[k].count == orders_[0].count && tenon::detail::is_taken(order);
    }
    void set(std::size_t k, const index_list& order) {
        orders_[k] = order;
        tenon::detail::set_orders(i_->attributes, orders_);
    }

private:
    program_item* i_;
    std::vector<index_list> orders_;
};

// Who reads a value, and as which operand.
struct value_reader {
    int item;
    std::size_t operand;
};

// Result `o` of item n is written as it is transposed for one reader, where all others can read it so.
inline bool write_in_order(program& p, const uses_of& uses, int n, std::size_t o, std::vector<value_reader> readers) {
    const program_item& maker = p.item(n);
    const int v = maker.outputs[o];
    const auto at = std::find_if(readers.begin(), readers.end(), [&](const value_reader& r) {
        const program_item& i = p.item(r.item);
        return r.operand == 0 && !i.outputs.empty() && maker_of_part(p, uses, maker, i.outputs[0]) == &i;
    });
    if (at == readers.end() || uses[v] != static_cast<int>(readers.size())) return false; // or it is fetched, or viewed
    program_item& transposes = p.item(at->item);
    readers.erase(at);
    const index_list order = inverse_of(order_of(p, transposes));
    std::vector<item_orders> changed{item_orders(p, p.item(n))};
    readers.insert(readers.begin(), {n, changed[0].result(o)});
    for (std::size_t r = 0; r < readers.size(); ++r) {
        program_item& i = p.item(readers[r].item);
        if (!takes_orders(i) || i.device != maker.device) return false;
        if (r > 0) changed.emplace_back(p, i);
        if (!changed[r].may_be(readers[r].operand, order_through(order, changed[r][readers[r].operand]))) return false;
    }
    const int transposed = transposes.outputs[0];
    for (const auto& [item, operand] : readers) { // of which one may be there twice
        program_item& i = p.item(item);
        item_orders of(p, i);
        of.set(operand, order_through(order, of[operand]));
        (operand < i.inputs.size() ? i.inputs[operand] : i.outputs[o]) = transposed;
    }
    p.value(transposed).producer = n;
    p.value(v).producer = -1;
    transposes.removed = true;
    return true;
}

inline void take_orders(program& p) {
    if (std::none_of(p.items.begin(), p.items.end(), takes_orders)) return;
    const int fused = p.fused;
    const uses_of before(p);
    for (program_item& i : p.items)
        for (std::size_t k = 0; k < i.inputs.size() && takes_orders(i); ++k) {
            const program_item* const from = i.read[k] ? maker_of_part(p, before, i, i.inputs[k]) : nullptr;
            if (!from) continue;
            item_orders of(p, i);
            const index_list order = order_of(p, *from);
            if (!of.may_be(k, order)) continue;
            of.set(k, order);
            i.inputs[k] = from->inputs[0];
            ++p.fused;
        }
    if (p.fused != fused) drop_unread(p, false);
    const uses_of uses(p);
    std::vector<std::vector<value_reader>> readers(p.values.size());
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const program_item& i = p.items[n];
        for (std::size_t k = 0; k < i.inputs.size() && !i.removed; ++k) {
            const int maker = i.read[k] ? p.value(i.inputs[k]).producer : -1;
            if (maker >= 0 && takes_orders(p.item(maker)))
                readers[static_cast<std::size_t>(i.inputs[k])].push_back({static_cast<int>(n), k});
        }
    }
    for (std::size_t n = 0; n < p.items.size(); ++n)
        for (std::size_t o = 0; o < p.items[n].outputs.size() && takes_orders(p.items[n]); ++o)
            if (write_in_order(p, uses, static_cast<int>(n), o,
                               readers[static_cast<std::size_t>(p.items[n].outputs[o])]))
                ++p.fused;
}

} // namespace tenon::runtime::detail
