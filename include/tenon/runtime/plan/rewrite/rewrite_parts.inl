#pragma once

#include <tenon/ops/elementwise/fused_parts.hpp>

// A part of runtime/plan/rewrite/rewrite.ipp: slices and the like that elementwise items read where they lie. A stencil is one pass.

namespace tenon::runtime::detail {

// What makes a value, where that is a part of a tensor which is there as long.
inline const program_item* maker_of_part(const program& p, const uses_of& uses, const program_item& reader, int value) {
    const int maker = p.value(value).producer;
    if (maker < 0) return nullptr;
    const program_item& from = p.item(maker);
    const bool is_free =
        from.predecessors.empty() && reader.predecessors.empty() && uses.awaited[static_cast<std::size_t>(maker)] == 0;
    return from.op->part && is_free && from.device == reader.device ? &from : nullptr;
}

// The last of the passes: others see the parts as items of their own. What somebody else needs densely is made anyway, and is read
// as it is.
inline void read_parts_in_place(program& p, const plan_options& o) {
    if (std::none_of(p.items.begin(), p.items.end(), [](const program_item& i) { return !i.removed && i.op->part; }))
        return;
    const uses_of uses(p);
    std::vector<int> readable(p.values.size()); // by value: how many may read it in place
    std::vector<std::vector<tenon::detail::operand_part>> found(p.items.size());
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const program_item& i = p.items[n];
        if (i.removed || i.op != &fused_definition || i.outputs.empty()) continue;
        const element_type e = p.value(i.outputs[0]).type.element;
        std::vector<tenon::detail::operand_part> parts(i.inputs.size());
        std::vector<tensor_type> types;
        bool any = false;
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const program_value& v = p.value(i.inputs[k]);
            types.push_back(v.type);
            const program_item* const from = i.read[k] ? maker_of_part(p, uses, i, i.inputs[k]) : nullptr;
            if (!from) continue;
            parts[k] = {true, from->op->part(from->attributes, p.value(from->inputs[0]).type.extents, v.type.extents)};
            any = true;
        }
        if (!any || !o.device(i.device).kernel_of(fused_parts_definition, e)) continue;
        const type_list list(types.data(), static_cast<int>(types.size()));
        if (!tenon::detail::may_be_read_in_place(tenon::detail::make_layout(list, parts))) continue;
        for (std::size_t k = 0; k < parts.size(); ++k)
            if (parts[k].is_part) ++readable[static_cast<std::size_t>(i.inputs[k])];
        found[n] = std::move(parts);
    }
    bool changes = false;
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        if (found[n].empty()) continue;
        program_item& i = p.items[n];
        const auto a = decode<fused_op::attributes>(i.attributes);
        fused_parts_op::attributes made{a.tape, a.constants, a.merge, {}, {}};
        bool any = false;
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const int v = i.inputs[k];
            made.types.push_back(p.value(v).type);
            tenon::detail::operand_part& part = found[n][k];
            part.is_part = part.is_part && readable[static_cast<std::size_t>(v)] == uses[v];
            if (!part.is_part) continue;
            any = true;
            i.inputs[k] = p.item(p.value(v).producer).inputs[0];
        }
        if (!any) continue;
        changes = true;
        made.places = tenon::detail::places_of(found[n]);
        i.op = &fused_parts_definition;
        i.attributes = encode(made);
        i.find_reads();
        ++p.fused;
    }
    if (changes) drop_unread(p, false);
}

} // namespace tenon::runtime::detail
