#pragma once

// A part of plan/rewrite.ipp: what follows a product moves into its kernel.

#include <utility>

namespace tenon::runtime::detail {

// What a fused item is, when it is `product + bias`, with or without relu: the product's input and the bias's.
inline bool is_bias_epilogue(const tape& t, int& product, int& bias, bool& relu) {
    if (t.output_count != 1 || t.outputs[0].like >= 0 || t.input_count != 2 || t.inputs[0] != t.outputs[0].type)
        return false;
    int r = t.outputs[0].reg;
    relu = t.code[r].op == opcode::relu;
    if (relu) r = t.code[r].a;
    if (t.length != (relu ? 4 : 3) || t.code[r].op != opcode::add) return false;
    const instruction &x = t.code[t.code[r].a], &y = t.code[t.code[r].b];
    if (x.op != opcode::input || y.op != opcode::input || x.a == y.a) return false;
    product = x.a;
    bias = y.a;
    return true;
}

// Bias and relu are applied by the kernel of the product they follow.
inline void fuse_epilogues(program& p) {
    const uses_of uses(p);
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        program_item& i = p.items[n];
        if (i.removed || i.op != &fused_definition || !i.predecessors.empty()) continue;
        int product = 0, bias = 0;
        bool relu = false;
        if (!is_bias_epilogue(*tape_of(i), product, bias, relu)) continue;
        for (int turn = 0; turn < 2; ++turn, std::swap(product, bias)) {
            const int v = i.inputs[static_cast<std::size_t>(product)], b = i.inputs[static_cast<std::size_t>(bias)];
            if (p.value(v).producer < 0 || uses[v] != 1) continue;
            program_item& from = p.item(p.value(v).producer);
            const extents &out = p.value(v).type.extents, &shift = p.value(b).type.extents;
            if (!from.op->with_bias || !from.predecessors.empty() || out.rank() < 2 || shift.rank() != 1 ||
                from.device != i.device || !(shift[0] == out[out.rank() - 1]) ||
                !(out == p.value(i.outputs[0]).type.extents) ||
                (p.value(v).type.element != element_type::float32 &&
                 p.value(v).type.element != element_type::float64) ||
                uses.awaited[static_cast<std::size_t>(p.value(v).producer)])
                continue;
            // Vectors take part in products of their own kind.
            if (p.value(from.inputs[0]).type.extents.rank() < 2 || p.value(from.inputs[1]).type.extents.rank() < 2)
                continue;
            const op_definition* with_bias = find_op(from.op->with_bias);
            if (!with_bias) continue;
            tenon::attributes made = from.attributes;
            made.set("relu", std::int64_t{relu});
            i.op = with_bias;
            i.attributes = std::move(made);
            i.inputs = {from.inputs[0], from.inputs[1], b};
            i.find_reads();
            from.removed = true;
            ++p.fused;
            break;
        }
    }
}

// What a fused item is, when it is `factor * product + addend`: the inputs, and the number.
inline bool is_scaled_sum(const tape& t, int& product, int& addend, double& factor) {
    if (t.output_count != 1 || t.outputs[0].like >= 0 || t.input_count != 2 || t.length != 4 ||
        t.inputs[0] != t.outputs[0].type || t.inputs[1] != t.outputs[0].type)
        return false;
    const instruction& sum = t.code[t.outputs[0].reg];
    if (sum.op != opcode::fma) return false;
    const instruction *x = &t.code[sum.a], *y = &t.code[sum.b], *z = &t.code[sum.c];
    if (x->op != opcode::literal) std::swap(x, y);
    if (x->op != opcode::literal || y->op != opcode::input || z->op != opcode::input || y->a == z->a) return false;
    product = y->a;
    addend = z->a;
    factor = x->literal().as_double();
    return true;
}

// A step down a gradient that is a product is taken by the product's kernel.
inline void fuse_steps(program& p, const plan_options& o) {
    const uses_of uses(p);
    for (program_item& i : p.items) {
        if (i.removed || i.op != &fused_definition || !i.predecessors.empty()) continue;
        int product = 0, addend = 0;
        double factor = 0;
        if (!is_scaled_sum(*tape_of(i), product, addend, factor)) continue;
        const int v = i.inputs[static_cast<std::size_t>(product)], c = i.inputs[static_cast<std::size_t>(addend)];
        if (p.value(v).producer < 0 || uses[v] != 1) continue;
        program_item& from = p.item(p.value(v).producer);
        const tensor_type& type = p.value(i.outputs[0]).type;
        if (!from.op->with_addend || from.device != i.device || !from.predecessors.empty() ||
            uses.awaited[static_cast<std::size_t>(p.value(v).producer)] || p.value(v).type != type ||
            p.value(c).type != type ||
            (type.element != element_type::float32 && type.element != element_type::float64) ||
            p.root(from.inputs[0]) == p.root(c) ||
            p.root(from.inputs[1]) == p.root(c) || // its result may lie where c does
            !o.device(i.device).kernel_of(from.op->with_addend(), type.element))
            continue;
        tenon::attributes made = from.attributes;
        made.set("factor", factor);
        i.op = &from.op->with_addend();
        i.attributes = std::move(made);
        i.inputs = {from.inputs[0], from.inputs[1], c};
        i.find_reads();
        from.removed = true;
        ++p.fused;
    }
}

} // namespace tenon::runtime::detail
