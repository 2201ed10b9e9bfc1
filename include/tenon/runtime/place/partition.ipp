#pragma once

#include <algorithm>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/ops/control.hpp>
#include <tenon/ops/state.hpp>
#include <tenon/runtime/plan/cost_measurements.hpp>
#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

TENON_INLINE std::string place_of(const node& n, const tenon::device& d) {
    return n.name + " (" + n.op->name + ") on " + d.name();
}

TENON_INLINE kernel_pointer prepare_kernel(const program& p, const program_item& i, const plan_options& o) {
    std::vector<tensor_type> in, out;
    for (const int v : i.inputs) in.push_back(p.value(v).type);
    for (const int v : i.outputs) out.push_back(p.value(v).type);
    tenon::device& d = o.device(i.device);
    const element_type e = !out.empty() ? out[0].element : !in.empty() ? in[0].element : element_type::none;
    const kernel_factory factory = d.kernel_of(*i.op, e);
    if (!factory)
        throw invalid_argument_error(place_of(*i.origin, d) + ": op " + i.op->name + " has no kernel for " +
                                     d.full_name().type.str() + " devices");
    const kernel_setup s{.node = *i.origin,
                         .attrs = i.attributes,
                         .inputs = type_list(in.data(), static_cast<int>(in.size())),
                         .outputs = type_list(out.data(), static_cast<int>(out.size())),
                         .threads = d.lanes() ? 1 : o.threads,
                         .resources = &d.resources(),
                         .graph_seed = o.graph_seed};
    return factory(s);
}

TENON_INLINE std::string timed_as(const program& p, const program_item& i) {
    std::vector<tensor_type> in, out;
    for (const int v : i.inputs) in.push_back(p.value(v).type);
    for (const int v : i.outputs) out.push_back(p.value(v).type);
    return tenon::timed_as(*i.op, i.attributes, type_list(in.data(), static_cast<int>(in.size())),
                           type_list(out.data(), static_cast<int>(out.size())));
}

TENON_INLINE const node* variable_of(const program_item& i) {
    if (i.op->is(op_flags::variable)) return i.origin;
    if (!i.op->is(op_flags::updates)) return nullptr;
    const node* v = i.origin->inputs[0].node;
    if (!v->op->is(op_flags::variable))
        throw invalid_argument_error(i.origin->name + " (" + i.op->name + "): input 0 is no variable but a " +
                                     v->op->name);
    return v;
}

TENON_INLINE void place(program& p, const plan_options& o) {
    std::vector<const node*> nodes;
    for (const program_item& i : p.items) {
        if (i.removed) continue;
        (void)variable_of(i); // refuses updates of what is none
        nodes.push_back(i.origin);
    }
    placement_optimizer better;
    if (o.strategy) better = [&](std::vector<placement_group>& groups) { o.strategy->choose(p, o, groups); };
    const std::vector<int> devices = o.placer->place(nodes, better);
    auto device = devices.begin();
    for (program_item& i : p.items) {
        if (i.removed) continue;
        i.device = *device++;
        // A constant is in the graph, on the host; who reads it elsewhere gets a copy.
        if (i.op->is(op_flags::constant)) i.device = 0;
        for (const int v : i.outputs) p.value(v).device = i.device;
        if (const node* v = variable_of(i))
            p.value(i.outputs[0]).variable =
                &o.device(i.device).resources().variable(v->container, v->name, v->outputs[0]);
    }
}

TENON_INLINE placement_explanation explain(const program& p, const plan_options& o) {
    placement_explanation e;
    std::set<std::pair<int, int>> crossed; // value, device
    for (const program_item& i : p.items) {
        if (i.removed) continue;
        const placement_decision d = o.placer->decision(i.origin);
        e.nodes.push_back({i.origin->name, shown_op(*i.origin), i.origin->device, o.device(d.device).full_name(),
                           d.rule, d.group ? d.group->name : i.origin->name});
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            if (!p.reads(i, static_cast<int>(k))) continue;
            const int v = i.inputs[k];
            const program_value& value = p.value(v);
            placement_explanation::edge edge{any_tensor(value.origin).name(), value.type, value.origin.node->name,
                                             i.origin->name};
            if (value.device != i.device) {
                edge.bytes = bytes_of(value.type);
                edge.once = value.producer >= 0 && p.item(value.producer).op->is(op_flags::constant);
                edge.shared = !crossed.insert({v, i.device}).second;
            }
            e.edges.push_back(std::move(edge));
        }
    }
    if (o.strategy) o.strategy->explain(p, o, e);
    return e;
}

TENON_INLINE worker worker_of(const program& p, const plan_options& o, const program_item& i) {
    const bool has_lanes = o.device(i.device).lanes() != nullptr;
    if (i.op != &transfer_definition) return {i.device, has_lanes ? device_lanes::compute : -1};
    if (has_lanes) return {i.device, device_lanes::copies_in};
    const int from = p.value(p.root(i.inputs[0])).device;
    if (o.device(from).lanes()) return {from, device_lanes::copies_out};
    return {i.device, -1};
}

namespace detail {

class crossings {
public:
    explicit crossings(program& p) : p_(p) {}

    void insert() {
        const int items = static_cast<int>(p_.items.size());
        for (int n = 0; n < items; ++n) {
            if (p_.item(n).removed) continue;
            const int device = p_.item(n).device;
            for (std::size_t k = 0; k < p_.item(n).inputs.size(); ++k) {
                const int v = p_.item(n).inputs[k];
                if (!p_.reads(p_.item(n), static_cast<int>(k)) || p_.value(p_.root(v)).device == device) continue;
                const int here = there(v, device); // which may move the items
                p_.item(n).inputs[k] = here;
            }
        }
        // What is fetched crosses to the host with what is read there; a view alone crosses in its own sizes.
        for (int& f : p_.fetches) {
            const int root = p_.root(f);
            if (p_.value(root).device == host || p_.value(root).constant) continue;
            if (f == root || crossed_.contains({root, host})) f = there(f, host);
        }
    }

private:
    static constexpr int host = 0;

    // The same value in a device's memory.
    int there(int value, int device) {
        const int root = p_.root(value);
        const int crossing = root_there(root, device);
        if (value == root) return crossing;
        const auto [at, isnew] = views_.try_emplace({value, crossing}, static_cast<int>(p_.values.size()));
        if (isnew) {
            program_value view;
            view.origin = p_.value(value).origin;
            view.type = p_.value(value).type;
            view.view_of = crossing;
            p_.values.push_back(std::move(view));
        }
        return at->second;
    }
    int root_there(int root, int device) {
        const auto [at, isnew] = crossed_.try_emplace({root, device}, static_cast<int>(p_.values.size()));
        if (!isnew) return at->second;
        program_value made;
        made.origin = p_.value(root).origin;
        made.type = p_.value(root).type;
        made.device = device;
        if (p_.value(root).constant) made.constant = p_.value(root).constant;
        else {
            program_item i;
            i.origin = made.origin.node;
            i.op = &transfer_definition;
            i.inputs = {root};
            i.outputs = {at->second};
            i.device = device;
            made.producer = static_cast<int>(p_.items.size());
            p_.items.push_back(std::move(i));
        }
        p_.values.push_back(std::move(made));
        return at->second;
    }

    program& p_;
    std::map<std::pair<int, int>, int> crossed_; // value, device: the value there
    std::map<std::pair<int, int>, int> views_;   // view, what its root became: the view there
};

} // namespace detail

TENON_INLINE void insert_transfers(program& p, const plan_options& o) {
    if (o.devices.size() > 1) detail::crossings(p).insert();
}

} // namespace tenon::runtime
