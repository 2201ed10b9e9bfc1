#pragma once

#include <set>
#include <unordered_map>

#include <tenon/runtime/place/crossings.hpp>
#include <tenon/runtime/place/late_sizes.hpp>
#include <tenon/runtime/place/place.hpp>

namespace tenon::runtime {

TENON_INLINE void place(program& p, const plan_options& o, placer& by, placement_strategy* strategy) {
    std::vector<const node*> nodes;
    for (const program_item& i : p.items) {
        if (i.removed) continue;
        (void)variable_of(i); // refuses updates of what is none
        nodes.push_back(i.origin);
    }
    placement_optimizer better;
    if (strategy) better = [&](std::vector<placement_group>& groups) { strategy->choose(p, o, groups); };
    const std::vector<int> devices = by.place(nodes, better);
    auto device = devices.begin();
    for (program_item& i : p.items) {
        if (i.removed) continue;
        i.device = *device++;
        // A constant is in the graph, on the host; who reads it elsewhere gets a copy.
        if (i.op->is(op_flags::constant)) i.device = 0;
        for (const int v : i.outputs) p.value(v).device = i.device;
    }
    // A variable that is not read lies where its updates are.
    std::unordered_map<const node*, int> updated;
    for (const program_item& i : p.items)
        if (!i.removed && i.op->is(op_flags::updates)) updated.emplace(variable_of(i), i.device);
    for (program_item& i : p.items) {
        if (!i.removed || !i.op->is(op_flags::variable)) continue;
        const auto at = updated.find(i.origin);
        if (at == updated.end()) continue;
        i.device = at->second;
        for (const int v : i.outputs) p.value(v).device = i.device;
    }
}

TENON_INLINE placement_explanation explain(const program& p, const plan_options& o, const placer& by,
                                           placement_strategy* strategy, const given_sizes& told) {
    placement_explanation e;
    const std::vector<late_sizes> sizes = sizes_of_step(p, told);
    std::set<std::pair<int, int>> crossed; // value, device
    const auto read = [&](int v, int device, const std::string& reader) {
        const program_value& value = p.value(v);
        placement_explanation::edge edge{any_tensor(value.origin).name(), value.type, value.origin.node->name, reader};
        if (value.device != device) {
            tensor_type travels = value.type;
            const device_name &from = o.name_of(value.device), &to = o.name_of(device);
            const element_type as = o.travels_as(travels);
            if (as != element_type::none && !(from.job == to.job && from.task == to.task)) travels.element = as;
            const late_sizes& is = sizes[static_cast<std::size_t>(v)];
            edge.known = is.known;
            travels.extents = is.sizes;
            if (travels.extents.is_static()) edge.bytes = bytes_of(travels);
            else edge.known = bytes_known::not_yet;
            edge.once = value.producer >= 0 && p.item(value.producer).op->is(op_flags::constant);
            edge.shared = !crossed.insert({v, device}).second;
        }
        e.edges.push_back(std::move(edge));
    };
    std::set<const node*> listed;
    for (const program_item& i : p.items) {
        if (i.removed) continue;
        const placement_decision d = by.decision(i.origin);
        if (listed.insert(i.origin).second) // several updates of a variable may evaluate a node each
            e.nodes.push_back({i.origin->name, shown_op(*i.origin), i.origin->device, o.name_of(d.device), d.rule,
                               d.group ? d.group->name : i.origin->name});
        for (std::size_t k = 0; k < i.inputs.size(); ++k)
            if (p.reads(i, static_cast<int>(k))) read(i.inputs[k], i.device, i.origin->name);
    }
    for (const int f : p.fetches)
        if (p.value(f).device != 0) read(f, 0, {});
    e.crossings = crossings_of(p, o, sizes);
    if (strategy) strategy->explain(p, o, by, e);
    return e;
}

} // namespace tenon::runtime
