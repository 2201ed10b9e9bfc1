#pragma once

#include <unordered_map>

#include <tenon/ops/shape/fused_rows.hpp>

// A part of runtime/plan/rewrite/rewrite.ipp: what an optimiser makes of rows that indices name, and of the sums of their gradients, goes straight
// back to them.

namespace tenon::runtime::detail {

inline tenon::detail::keyed_rows keyed_role_of(const program_item& i) {
    return tenon::detail::keyed_rows_of(*i.op, i.attributes);
}

class keyed_updates {
public:
    explicit keyed_updates(program& p) : p_(p), uses_(p), replaced_by_(p.values.size(), -1) {
        for (std::size_t n = 0; n < p.items.size(); ++n) {
            const program_item& i = p.items[n];
            if (i.removed || !i.op->is(op_flags::updates)) continue;
            ++updates_[p.value(i.outputs[0]).variable];
            if (keyed_role_of(i) == role::replaced && uses_[i.inputs[2]] == 1)
                replaced_by_[static_cast<std::size_t>(i.inputs[2])] = static_cast<int>(n);
        }
    }

    bool fuse() {
        bool any = false;
        for (std::size_t n = 0; n < p_.items.size(); ++n) any = (is_asked(n) && fuse(n)) || any;
        return any;
    }

private:
    using role = tenon::detail::keyed_rows;
    using made_op = fused_rows_op;

    bool is_free(std::size_t n) const { return p_.items[n].predecessors.empty() && uses_.awaited[n] == 0; }
    bool is_asked(std::size_t n) const {
        const program_item& i = p_.items[n];
        return !i.removed && i.op == &fused_definition && is_free(n) && !i.outputs.empty() &&
               replaced_by_[static_cast<std::size_t>(i.outputs[0])] >= 0;
    }
    const program_item& update_of(int output) const { return p_.item(replaced_by_[static_cast<std::size_t>(output)]); }

    // Whether all that an elementwise item makes are the same rows of variables that nothing else updates.
    bool gives_rows(const program_item& i) const {
        const tape& t = *tape_of(i);
        if (static_cast<int>(i.outputs.size()) != t.output_count) return false; // some are merged
        const program_item& first = update_of(i.outputs[0]);
        for (std::size_t o = 0; o < i.outputs.size(); ++o) {
            if (replaced_by_[static_cast<std::size_t>(i.outputs[o])] < 0 || t.outputs[o].like >= 0) return false;
            const program_item& u = update_of(i.outputs[o]);
            if (u.inputs[1] != first.inputs[1] || u.device != i.device || !u.predecessors.empty() ||
                updates_.at(p_.value(u.outputs[0]).variable) != 1 ||
                !(p_.value(u.outputs[0]).type.extents == p_.value(first.outputs[0]).type.extents) ||
                !(p_.value(u.inputs[2]).type.extents == broadcast_of(p_, i.inputs)))
                return false;
        }
        return true;
    }

    // What a value is of what one repeats for indices that follow each other, or itself.
    int without_repetition(int value, int indices) const {
        const int maker = p_.value(value).producer;
        if (maker < 0 || !p_.item(maker).op->repeated || !p_.item(maker).predecessors.empty()) return value;
        const program_item& from = p_.item(maker);
        const extents& all = p_.value(value).type.extents;
        const extents seen = from.op->repeated(from.attributes, p_.value(from.inputs[0]).type.extents, all);
        if (seen.rank() != all.rank()) return value;
        bool is_repeated = false;
        for (int d = 0; d < all.rank(); ++d) {
            const bool is_same = seen[d] == all[d];
            if (!is_same && d >= indices) return value;
            if (is_same && is_repeated && d < indices && all[d].size != 1) return value;
            is_repeated = is_repeated || !is_same;
        }
        return from.inputs[0];
    }

    bool fuse(std::size_t n) {
        const program_item& i = p_.items[n];
        if (!gives_rows(i)) return false;
        const auto of = decode<fused_op::attributes>(i.attributes);
        made_op::attributes a{of.tape, of.constants, {}};
        const node* reader = nullptr;
        number_list inputs, outputs, updates;
        for (const int o : i.outputs) {
            updates.push_back(replaced_by_[static_cast<std::size_t>(o)]);
            inputs.push_back(update_of(o).inputs[0]);
            outputs.push_back(update_of(o).outputs[0]);
        }
        const int keys = update_of(i.outputs[0]).inputs[1], indices = p_.value(keys).type.extents.rank();
        inputs.push_back(keys);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const int v = i.inputs[k], maker = p_.value(v).producer;
            const role is = maker >= 0 && uses_[v] == 1 && is_free(static_cast<std::size_t>(maker))
                                ? keyed_role_of(p_.item(maker))
                                : role::none;
            const extents &own = p_.value(v).type.extents, &all = p_.value(i.outputs[0]).type.extents;
            if (!i.read[k] || is == role::replaced) return false;
            if (is != role::none && (p_.item(maker).inputs[1] != keys || !(own == all))) return false;
            if (is == role::summed) {
                a.operands.push_back(made_op::summed);
                inputs.push_back(without_repetition(p_.item(maker).inputs[0], indices));
                continue;
            }
            if (is == role::read) {
                const program_value& whole = p_.value(p_.item(maker).inputs[0]);
                const auto at = std::find_if(outputs.begin(), outputs.end(), [&](int o) {
                    return whole.current && whole.variable == p_.value(o).variable;
                });
                if (at == outputs.end()) return false;
                a.operands.push_back(at - outputs.begin());
                if (!reader) reader = p_.item(maker).origin;
                continue;
            }
            for (int d = 0; d < own.rank(); ++d)
                if (d + all.rank() - own.rank() < indices && own[d].size != 1) return false;
            a.operands.push_back(made_op::one_for_all);
            inputs.push_back(v);
        }
        if (!reader) return false;
        const int last = *std::max_element(updates.begin(), updates.end());
        for (const int u : updates) {
            p_.item(last).target = p_.item(last).target || p_.item(u).target;
            if (u == last) continue;
            p_.item(u).removed = true;
            p_.item(u).predecessors = {last}; // for which it stands
        }
        program_item& made = p_.item(last);
        made.origin = reader;
        made.op = &made_op::definition();
        made.attributes = encode(a);
        made.inputs = std::move(inputs);
        made.outputs = std::move(outputs);
        made.find_reads();
        for (const int o : made.outputs) p_.value(o).producer = last;
        p_.items[n].removed = true;
        ++p_.fused;
        return true;
    }

    program& p_;
    const uses_of uses_;
    std::vector<int> replaced_by_; // by value: the item that replaces rows of a variable by it alone
    std::unordered_map<const variable_resource*, int> updates_;
};

// Where a device has streams an item updates one variable. What is checked or timed is so node by node.
inline void fuse_keyed_updates(program& p, const plan_options& o) {
    const auto replaces_rows = [](const program_item& i) {
        return !i.removed && keyed_role_of(i) == tenon::detail::keyed_rows::replaced;
    };
    if (o.has_streams() || o.check_numerics || o.measure || std::none_of(p.items.begin(), p.items.end(), replaces_rows))
        return;
    if (keyed_updates(p).fuse()) drop_unread(p, false);
}

} // namespace tenon::runtime::detail
