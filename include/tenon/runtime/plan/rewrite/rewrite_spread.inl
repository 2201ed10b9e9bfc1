#pragma once

#include <optional>
#include <utility>

// A part of runtime/plan/rewrite/rewrite.ipp: what lets elements of a spread tensor through or not is asked before they are spread, of fewer.

namespace tenon::runtime::detail {

// An elementwise item that reads what op_flags::spreads makes of x, y and dy, and lets each element through or not, as comparisons of x with
// numbers say: relu's gradient behind a pool. Where an element of dy goes x has the value of y, and elsewhere there is nothing but zeros: it
// may ask y, and let dy through, with the same bits; its sums by channels are the same.
class selecting_item {
public:
    selecting_item(const program& p, const program_item& i, std::size_t dx, int x) :
        p_(p), i_(i), t_(*tape_of(i)), dx_(static_cast<int>(dx)), x_(x) {
        for (std::size_t k = 0; k < i.inputs.size() && only_these_; ++k) {
            const int v = i.inputs[k];
            only_these_ = k == dx || !i.read[k] || v == x || is_number(v);
        }
        only_these_ = only_these_ && static_cast<int>(i.outputs.size()) == t_.output_count; // none are merged
    }

    /// Its output that has the sizes of dx, where all others are sums by channels; -1: it is another item.
    int whole() const {
        const tensor_type& type = p_.value(i_.inputs[static_cast<std::size_t>(dx_)]).type;
        int found = -1;
        for (int o = 0; o < t_.output_count; ++o) {
            const tensor_type& made = p_.value(i_.outputs[static_cast<std::size_t>(o)]).type;
            if (!only_these_ || !selects(t_.outputs[o].reg)) return -1;
            if (made == type && found < 0) found = o;
            else if (made.extents.rank() > 1) return -1;
        }
        return found;
    }

private:
    bool is_number(int value) const {
        const auto& c = p_.value(value).constant;
        return c && c->elements() == 1;
    }
    int value_of(int r) const {
        const int k = input_of(t_, r);
        return k < 0 ? -1 : i_.inputs[static_cast<std::size_t>(k)];
    }
    bool is_zero(int r) const {
        if (t_.code[r].op == opcode::literal) return t_.code[r].bits == 0;
        const int v = value_of(r);
        if (v < 0 || !is_number(v)) return false;
        const auto* const bytes = static_cast<const unsigned char*>(p_.value(v).constant->data());
        return std::all_of(bytes, bytes + p_.value(v).constant->bytes(), [](unsigned char b) { return b == 0; });
    }
    bool is_compared(int r) const {
        const int v = value_of(r);
        return t_.code[r].op == opcode::literal || t_.code[r].op == opcode::constant ||
               (v >= 0 && (v == x_ || is_number(v)));
    }
    // Whether register r is dx or zero, as comparisons say.
    bool selects(int r) const {
        const instruction& i = t_.code[r];
        if (i.op != opcode::select) return input_of(t_, r) == dx_ || is_zero(r);
        const instruction& asked = t_.code[i.a];
        return info_of(asked.op).group == opcode_group::comparison && is_compared(asked.a) && is_compared(asked.b) &&
               selects(i.b) && selects(i.c);
    }

    const program& p_;
    const program_item& i_;
    const tape& t_;
    int dx_, x_;
    bool only_these_ = true;
};

// The item that spreads what item n lets through, and the output for that; none where it is another item.
inline std::optional<std::pair<int, std::size_t>> spread_before(const program& p, const uses_of& uses, std::size_t n) {
    const program_item& i = p.items[n];
    if (i.removed || i.op != &fused_definition || !i.predecessors.empty() || uses.awaited[n]) return {};
    for (std::size_t k = 0; k < i.inputs.size(); ++k) {
        const int v = i.inputs[k], maker = i.read[k] ? p.value(v).producer : -1;
        if (maker < 0 || uses[v] != 1) continue;
        const program_item& from = p.item(maker);
        if (!from.op->is(op_flags::spreads) || !from.read[0] || from.device != i.device || !from.predecessors.empty() ||
            uses.awaited[static_cast<std::size_t>(maker)] || !(broadcast_of(p, i.inputs) == p.value(v).type.extents))
            continue;
        const int whole = selecting_item(p, i, k, from.inputs[0]).whole();
        if (whole >= 0) return std::pair(maker, static_cast<std::size_t>(whole));
    }
    return {};
}

inline void select_before_spreading(program& p) {
    if (std::none_of(p.items.begin(), p.items.end(),
                     [](const program_item& i) { return !i.removed && i.op->is(op_flags::spreads); }))
        return;
    const uses_of uses(p); // what changes is not asked about again
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const auto found = spread_before(p, uses, n);
        if (!found) continue;
        const auto [maker, whole] = *found;
        program_item &selects = p.items[n], &spreads = p.item(maker);
        const int dx = spreads.outputs[0], y = spreads.inputs[1], dy = spreads.inputs[2];
        const extents sizes = p.value(dx).type.extents;
        program_value selected = p.value(dx);
        selected.type = p.value(dy).type;
        const int v = p.add(std::move(selected));
        for (int& in : selects.inputs)
            if (in == dx) in = dy;
            else if (p.value(in).type.extents == sizes) in = y; // x, or what is asked for its sizes alone
        spreads.inputs[2] = v;
        spreads.outputs[0] = std::exchange(selects.outputs[whole], v);
        std::swap(selects, spreads);
        for (const int at : {static_cast<int>(n), maker})
            for (const int o : p.item(at).outputs) p.value(o).producer = at;
        p.value(dx).producer = -1;
        ++p.fused;
    }
}

} // namespace tenon::runtime::detail
