#pragma once

#include <cstddef>
#include <limits>
#include <unordered_map>

#include <tenon/core/array/out_of_memory.hpp>
#include <tenon/core/error.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/plan/program.hpp>
#include <tenon/runtime/plan/sizes.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>

namespace tenon::runtime {

TENON_INLINE std::string place_of(const node& n, const tenon::device& d) {
    return n.name + " (" + shown_op(n) + ") on " + d.name();
}

namespace detail {

// The types of an item's inputs and outputs.
class item_types {
public:
    item_types(const program& p, const program_item& i) : inputs_(i.inputs.size()) {
        types_.reserve(i.inputs.size() + i.outputs.size());
        for (const int v : i.inputs) types_.push_back(p.value(v).type);
        for (const int v : i.outputs) types_.push_back(p.value(v).type);
    }
    type_list inputs() const { return {types_.data(), static_cast<int>(inputs_)}; }
    type_list outputs() const { return {types_.data() + inputs_, static_cast<int>(types_.size() - inputs_)}; }

private:
    std::vector<tensor_type> types_;
    std::size_t inputs_;
};

inline std::string listed(type_list types) {
    std::string text;
    for (int t = 0; t < types.size(); ++t) text += (t > 0 ? ", " : "") + to_string(types[t]);
    return types.size() == 0 ? "nothing" : text;
}

// For the device of one item.
class item_bodies final : public body_planner {
public:
    item_bodies(int device, const plan_options& o) : device_(device), o_(o) {}
    std::unique_ptr<prepared_body> plan(const std::shared_ptr<const body>& of, type_list arguments) const override {
        if (!o_.plan_body) throw internal_error("these plans cannot have control flow");
        return o_.plan_body(of, arguments, device_, o_);
    }
    kernel_factory kernel_of(const op_definition& op, element_type e) const override {
        return o_.device(device_).kernel_of(op, e);
    }

private:
    int device_;
    const plan_options& o_;
};
} // namespace detail

TENON_INLINE kernel_pointer prepare_kernel(program& p, const program_item& i, const plan_options& o) {
    const detail::item_types types(p, i);
    const type_list in = types.inputs(), out = types.outputs();
    tenon::device& d = o.device(i.device);
    const element_type e = out.size() > 0 ? out[0].element : in.size() > 0 ? in[0].element : element_type::none;
    const kernel_factory factory = d.kernel_of(*i.op, e);
    if (!factory)
        throw invalid_argument_error(place_of(*i.origin, d) + ": op " + i.op->name + " has no kernel for " +
                                     d.full_name().type.str() + " devices");
    if (!p.prepared) p.prepared = std::make_shared<prepared_memory>(o.device(0));
    const detail::item_bodies bodies(i.device, o);
    const kernel_setup s{.node = *i.origin,
                         .attrs = i.attributes,
                         .inputs = in,
                         .outputs = out,
                         .threads = d.streams() ? 1 : o.threads,
                         .resources = &d.resources(),
                         .graph_seed = o.graph_seed,
                         .session_container = o.session_container.c_str(),
                         .files = &d.files(),
                         .gpu = d.gpu(),
                         .allow_tf32 = o.allow_tf32,
                         .timed = o.measure,
                         .memory = p.prepared.get(),
                         .bodies = &bodies};
    const auto who = [&] {
        return "preparing " + place_of(*i.origin, d) + ", of " + detail::listed(in) + " to " + detail::listed(out);
    };
    const auto mistaken = [&](const char* returned) {
        throw invalid_argument_error(place_of(*i.origin, d) + ": its op's prepare has returned " + returned);
    };
    try {
        kernel_pointer made = tenon::detail::naming_out_of_memory(who, [&] { return factory(s); });
        if (!made) mistaken("no kernel; return one, or throw why there is none");
        if ((dynamic_cast<const waiting_kernel*>(made.get()) != nullptr) != i.op->is(op_flags::waits))
            mistaken(i.op->is(op_flags::waits) ? "a kernel that is no waiting_kernel, as op_flags::waits asks for"
                                               : "a waiting_kernel, and has no op_flags::waits");
        if (made->scratch_bytes() > std::numeric_limits<std::size_t>::max() / 2) // aligned, and added to others'
            mistaken("a kernel whose scratch_bytes() are more than any memory has");
        return made;
    } catch (const resource_exhausted_error& refused) {
        const std::string named = who(), what = refused.what();
        if (what.starts_with(named)) throw;
        throw resource_exhausted_error(named + ": its tables need memory: " + what +
                                       "\nuse smaller sizes, or raise session_options::memory_limit");
    } catch (const error& thrown) {
        const std::string what = thrown.what();
        if (what.find(i.origin->name) != std::string::npos) throw;
        throw_error(thrown, what + " [node " + described(*i.origin, d.name()) + "]");
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& thrown) {
        throw internal_error(std::string(thrown.what()) + " [node " + described(*i.origin, d.name()) + "]");
    }
}

TENON_INLINE std::string timed_as(const program& p, const program_item& i) {
    const detail::item_types types(p, i);
    return tenon::timed_as(*i.op, i.attributes, types.inputs(), types.outputs());
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

TENON_INLINE void bind_variables(program& p, const plan_options& o) {
    std::unordered_map<const node*, variable_resource*> known; // an update is where its variable is
    for (const program_item& i : p.items) {
        if (i.removed) continue;
        const node* v = variable_of(i);
        if (!v || p.value(i.outputs[0]).variable) continue; // bound as a part of another program
        variable_resource*& resource = known[v];
        if (!resource) {
            p.variables.push_back(o.device(i.device).resources().variable(v->container, v->name, v->outputs[0]));
            resource = p.variables.back().get();
        }
        for (const int out : i.outputs) p.value(out).variable = resource;
    }
}

TENON_INLINE bool belongs_to_updates(const program& p, const program_item& i) {
    const auto is_or_leaves = [&](const program_value& v) {
        return v.variable && (v.current || !p.item(v.producer).op->is(op_flags::variable));
    };
    if (i.op->is(op_flags::variable)) return is_or_leaves(p.value(i.outputs[0]));
    for (std::size_t k = 0; k < i.inputs.size(); ++k)
        if (p.reads(i, static_cast<int>(k)) && is_or_leaves(p.value(p.root(i.inputs[k])))) return true;
    return std::any_of(i.outputs.begin(), i.outputs.end(), [&](int o) { return p.value(o).variable != nullptr; });
}

TENON_INLINE worker worker_of(const program& p, const plan_options& o, const program_item& i) {
    const bool has_streams = o.device(i.device).streams() != nullptr;
    if (i.op != &transfer_definition) {
        if (!has_streams) return {i.device, -1};
        return {i.device, i.op->is(op_flags::sums) ? device_streams::sums : device_streams::compute};
    }
    if (has_streams) return {i.device, device_streams::copies_in};
    const int from = p.value(p.root(i.inputs[0])).device;
    if (o.device(from).streams()) return {from, device_streams::copies_out};
    return {i.device, -1};
}

} // namespace tenon::runtime
