#pragma once

// A part of plan/rewrite.ipp: sums beside ops of rows, such as a residual before a normalisation, move into their kernels.

#include <utility>

namespace tenon::runtime::detail {

// What a fused item is, when it is `x + y`, or `x + (y + bias)` where each sum is rounded to the type of all: the inputs.
struct sum_of_inputs {
    int x = -1, y = -1, bias = -1;
};
inline bool is_sum(const tape& t, sum_of_inputs& s) {
    if (t.output_count != 1 || t.outputs[0].like >= 0 || t.input_count < 2 || t.input_count > 3) return false;
    const element_type e = t.outputs[0].type;
    for (int k = 0; k < t.input_count; ++k)
        if (t.inputs[k] != e) return false;
    const instruction& sum = t.code[t.outputs[0].reg];
    if (sum.op != opcode::add) return false;
    int x = sum.a, y = sum.b;
    if (input_of(t, x) < 0) std::swap(x, y);
    s.x = input_of(t, x);
    if (t.input_count == 2) {
        s.y = input_of(t, y);
        return t.length == 3 && s.x >= 0 && s.y >= 0 && s.x != s.y;
    }
    const bool is_rounded = t.code[y].op == opcode::cast && t.code[y].type == e;
    if (is_rounded != (compute_type(e) != e)) return false;
    const instruction& inner = t.code[is_rounded ? t.code[y].a : y];
    if (inner.op != opcode::add || t.length != (is_rounded ? 6 : 5)) return false;
    s.y = input_of(t, inner.a);
    s.bias = input_of(t, inner.b);
    return s.x >= 0 && s.y >= 0 && s.bias >= 0 && s.x != s.y && s.x != s.bias && s.y != s.bias;
}

// Whether a value may be computed of what an item makes, as far as a few items tell.
inline bool may_depend(const program& p, int value, int item) {
    constexpr std::size_t few = 16;
    std::vector<int> found;
    const auto find = [&](int i) {
        if (i >= 0 && std::find(found.begin(), found.end(), i) == found.end()) found.push_back(i);
    };
    find(p.value(p.root(value)).producer);
    for (std::size_t k = 0; k < found.size(); ++k) {
        if (found[k] == item || found.size() > few) return true;
        for (const int v : p.item(found[k]).inputs) find(p.value(p.root(v)).producer);
        for (const int before : p.item(found[k]).predecessors) find(before);
    }
    return false;
}

// Whether an item's device has a kernel of what it becomes, in which sums are rounded as they are apart: not those of 16 bits by CPUs.
inline bool has_kernel(const plan_options& o, int device, const op_definition& op, element_type e) {
    const kernel_factory make = o.device(device).kernel_of(op, e);
    return make && (make != op.cpu || compute_type(e) == e);
}

// What an op alone reads of another is made in one pass, where they have one.
inline void join_made_and_read(program& p, const plan_options& o) {
    const uses_of uses(p);
    for (program_item& i : p.items) {
        if (i.removed || !i.op->of_made || !i.predecessors.empty()) continue;
        const int v = i.inputs[0], maker = p.value(v).producer;
        if (maker < 0 || uses[v] != 1) continue;
        program_item& from = p.item(maker);
        if (from.device != i.device || !from.predecessors.empty() || uses.awaited[static_cast<std::size_t>(maker)])
            continue;
        std::vector<tensor_type> types;
        for (const int in : from.inputs) types.push_back(p.value(in).type);
        auto [op, attributes] = i.op->of_made(i.attributes, *from.op, from.attributes,
                                              type_list(types.data(), static_cast<int>(types.size())));
        if (!op || !o.device(i.device).kernel_of(*op, p.value(v).type.element)) continue;
        i.op = op;
        i.attributes = std::move(attributes);
        i.inputs = from.inputs;
        i.find_reads();
        from.removed = true;
        ++p.fused;
    }
}

// An op of rows of a sum adds up itself, and keeps the sum where others read it.
inline void fuse_row_sums(program& p, const plan_options& o) {
    const uses_of uses(p);
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        program_item& i = p.items[n];
        if (i.removed || i.inputs.empty() || i.outputs.empty() || !i.predecessors.empty() || uses.awaited[n]) continue;
        const int v = i.inputs[0], maker = p.value(v).producer;
        if (!i.op->of_sum || maker < 0 || p.item(maker).op != &fused_definition || uses[i.outputs[0]] == 0) continue;
        program_item& from = p.item(maker);
        const tensor_type& type = p.value(v).type;
        sum_of_inputs s;
        if (from.device != i.device || !from.predecessors.empty() || uses.awaited[static_cast<std::size_t>(maker)] ||
            !is_sum(*tape_of(from), s) || !has_kernel(o, i.device, i.op->of_sum(), type.element))
            continue;
        const auto input = [&](int k) { return from.inputs[static_cast<std::size_t>(k)]; };
        const auto is_whole = [&](int k) { return p.value(input(k)).type == type; };
        const extents along{type.extents[type.extents.rank() - 1]};
        if (s.bias >= 0 && is_whole(s.bias)) std::swap(s.y, s.bias);
        if (!is_whole(s.x) || !is_whole(s.y) || (s.bias >= 0 && !(p.value(input(s.bias)).type.extents == along)))
            continue;
        bool is_circle = false; // where the rest is computed of the sum
        for (std::size_t k = 1; k < i.inputs.size(); ++k) is_circle = is_circle || may_depend(p, i.inputs[k], maker);
        if (is_circle) continue;
        i.op = &i.op->of_sum();
        i.inputs[0] = input(s.x);
        i.inputs.push_back(input(s.y));
        if (s.bias >= 0) i.inputs.push_back(input(s.bias));
        i.outputs.push_back(v);
        i.find_reads();
        p.value(v).producer = static_cast<int>(n);
        from.removed = true;
        ++p.fused;
    }
}

// Whether each item comes after those that it needs.
inline bool is_in_order(const program& p) {
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const program_item& i = p.items[n];
        const auto is_later = [&](int before) { return before >= static_cast<int>(n); };
        if (i.removed) continue;
        if (std::any_of(i.predecessors.begin(), i.predecessors.end(), is_later) ||
            std::any_of(i.inputs.begin(), i.inputs.end(), [&](int v) { return is_later(p.value(p.root(v)).producer); }))
            return false;
    }
    return true;
}

// Where a tape reads input k in a sum with another input alone, whose result is rounded at once: the other, and the tape of which input k is
// that sum. -1: it does not.
inline int without_sum(const tape& t, int k, tape& made) {
    int own = -1, sum = -1;
    for (int r = 0; r < t.length; ++r) {
        if (input_of(t, r) == k) own = r;
        for (int a = 0; a < register_operands(t.code[r]); ++a) {
            if (operand_of(t.code[r], a) != own || own < 0) continue;
            if (sum >= 0 || t.code[r].op != opcode::add) return -1;
            sum = r;
        }
    }
    if (sum < 0) return -1;
    const int other = input_of(t, t.code[sum].a == own ? t.code[sum].b : t.code[sum].a);
    const element_type e = t.inputs[k];
    if (other < 0 || other == k || t.inputs[other] != e) return -1;
    made = t;
    for (int r = 0; r < t.length; ++r)
        for (int a = 0; a < register_operands(t.code[r]); ++a)
            if (operand_of(t.code[r], a) == sum) {
                if (compute_type(e) != e && !(t.code[r].op == opcode::cast && t.code[r].type == e)) return -1;
                (a == 0 ? made.code[r].a : a == 1 ? made.code[r].b : made.code[r].c) = static_cast<std::int16_t>(own);
            }
    for (int out = 0; out < t.output_count; ++out) {
        if (t.outputs[out].reg == own) return -1;
        if (t.outputs[out].reg != sum) continue;
        if (t.outputs[out].type != e) return -1;
        made.outputs[out].reg = static_cast<std::int16_t>(own);
    }
    return other;
}

// What is added to an op's result is added by its kernel: gradients that flow into a sum and into what is normalised of it.
inline void fuse_addends(program& p, const plan_options& o) {
    const auto is_asked = [](const program_item& i) { return !i.removed && i.op->plus; };
    if (std::none_of(p.items.begin(), p.items.end(), is_asked) || !is_in_order(p)) return;
    const uses_of uses(p);
    for (program_item& c : p.items) {
        if (c.removed || c.op != &fused_definition || joined_tapes::is_lost(joined_tapes::pass, *tape_of(c))) continue;
        for (std::size_t k = 0; k < c.inputs.size(); ++k) {
            const int v = c.inputs[k], maker = p.value(v).producer;
            if (maker < 0 || uses[v] != 1) continue;
            program_item& from = p.item(maker);
            const tensor_type& type = p.value(v).type;
            if (!from.op->plus || v != from.outputs[0] || from.device != c.device || !from.predecessors.empty() ||
                uses.awaited[static_cast<std::size_t>(maker)] ||
                !has_kernel(o, from.device, from.op->plus(), type.element))
                continue;
            auto a = decode<fused_op::attributes>(c.attributes);
            tape made;
            const int other = without_sum(*a.tape, static_cast<int>(k), made);
            if (other < 0) continue;
            const int addend = c.inputs[static_cast<std::size_t>(other)];
            // What comes before it is not computed of it.
            if (p.value(addend).type != type || p.value(p.root(addend)).producer >= maker) continue;
            a.tape = share_tape(without_dead_code(made));
            c.attributes = encode(a);
            c.find_reads();
            from.op = &from.op->plus();
            from.inputs.push_back(addend);
            from.find_reads();
            ++p.fused;
        }
    }
}

} // namespace tenon::runtime::detail
