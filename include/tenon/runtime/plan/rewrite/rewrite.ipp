#pragma once

#include <algorithm>
#include <chrono>

#include <tenon/core/error.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/op/step.hpp>
#include <tenon/ops/collective/exchange.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/plan/rewrite/rewrite.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon::runtime {

TENON_INLINE view_kind view_kind_of(const program_item& i) {
    if (i.outputs.size() != 1 || i.inputs.empty()) return view_kind::none;
    if (i.op->is(op_flags::identity)) return view_kind::same;
    return i.op->is(op_flags::view) ? view_kind::reshaped : view_kind::none;
}

namespace detail {

// What the passes ask about a program; made anew where a pass has changed it.
struct uses_of {
    std::vector<int> count;   // reads of each value, by items, fetches, and views that are read
    std::vector<int> awaited; // of each item: those that run after it, and whether it was asked for by itself
    explicit uses_of(const program& p) : count(p.values.size()), awaited(p.items.size()) {
        for (std::size_t n = 0; n < p.items.size(); ++n) {
            const program_item& i = p.items[n];
            if (i.removed) continue;
            awaited[n] += i.target;
            for (std::size_t k = 0; k < i.inputs.size(); ++k)
                if (i.read[k]) ++count[static_cast<std::size_t>(i.inputs[k])];
            for (const int a : i.predecessors) ++awaited[static_cast<std::size_t>(a)];
        }
        for (const int f : p.fetches) ++count[static_cast<std::size_t>(f)];
        for (std::size_t v = p.values.size(); v-- > 0;) // views come after what they show
            if (p.values[v].view_of >= 0 && count[v] > 0) ++count[static_cast<std::size_t>(p.values[v].view_of)];
    }
    int operator[](int value) const { return count[static_cast<std::size_t>(value)]; }
    // One read less.
    void release(const program& p, int value) {
        while (value >= 0 && --count[static_cast<std::size_t>(value)] == 0) value = p.value(value).view_of;
    }
};

// Values that have been replaced by others, read at the end.
class replacements {
public:
    explicit replacements(std::size_t n) : to_(n) {
        for (std::size_t i = 0; i < n; ++i) to_[i] = static_cast<int>(i);
    }
    void replace(int from, int to) { to_[static_cast<std::size_t>(from)] = to; }
    int of(int v) const {
        while (to_[static_cast<std::size_t>(v)] != v) v = to_[static_cast<std::size_t>(v)];
        return v;
    }
    void apply(program& p) const {
        for (program_item& i : p.items)
            for (int& v : i.inputs) v = of(v);
        for (int& f : p.fetches) f = of(f);
    }

private:
    std::vector<int> to_;
};

// Values that only an assignment reads: they are computed into the variable's memory, where a constant would take as much
// again beside it.
inline std::vector<bool> only_assigned(const program& p, const uses_of& uses) {
    std::vector<bool> only(p.values.size());
    for (const program_item& i : p.items)
        if (!i.removed && i.op->is(op_flags::replaces) && uses[i.inputs[1]] == 1)
            only[static_cast<std::size_t>(i.inputs[1])] = true;
    return only;
}

// Items whose inputs are all known are computed now, once. A loop that goes on for long, or without end, is left to the steps, which have
// limits and can be stopped.
inline void fold_constants(program& p, const plan_options& o) {
    constexpr std::chrono::milliseconds longest(100);
    constexpr std::int64_t little = 4096; // bytes
    const uses_of uses(p);
    const std::vector<bool> assigned = only_assigned(p, uses);
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        program_item& i = p.items[n];
        if (i.removed || i.outputs.empty()) continue;
        if (i.op->is(op_flags::constant)) {
            if (!i.predecessors.empty()) continue; // what it is made to run after runs first, and then it is a copy
            program_value& v = p.value(i.outputs[0]);
            v.constant = i.attributes.get<std::shared_ptr<const any_array>>("value");
            v.producer = -1;
            v.device = 0;
            i.removed = uses.awaited[n] == 0;
            continue;
        }
        if (!i.predecessors.empty()) continue;
        const auto is_known = [&](std::size_t k) {
            return p.value(i.inputs[k]).constant || !p.reads(i, static_cast<int>(k));
        };
        if (!i.inputs.empty() && !is_known(0)) continue;
        if (!o.fold || uses.awaited[n] || i.op->is(op_flags::stateful) || i.op->is(op_flags::source) || !i.op->cpu)
            continue;
        bool known = true;
        std::int64_t bytes = 0;
        for (std::size_t k = 0; k < i.inputs.size(); ++k) known = known && is_known(k);
        for (const int v : i.outputs) {
            bytes += bytes_of(p.value(v).type);
            known = known && p.value(v).type.element != element_type::string;
        }
        if (!known || bytes > most_folded_bytes) continue;
        if (bytes > little && assigned[static_cast<std::size_t>(i.outputs[0])]) continue;
        const int device = std::exchange(i.device, 0); // folding is the host's
        const kernel_pointer k = prepare_kernel(p, i, o);
        std::vector<const void*> in;
        std::vector<void*> out;
        std::vector<std::shared_ptr<any_array>> results;
        for (const int v : i.inputs) in.push_back(p.value(v).constant ? p.value(v).constant->data() : nullptr);
        for (const int v : i.outputs) {
            const tensor_type& t = p.value(v).type;
            results.push_back(std::make_shared<any_array>(t.element, t.extents));
            out.push_back(results.back()->data());
        }
        const any_array scratch(element_type::uint8, extents(static_cast<std::int64_t>(k->scratch_bytes())));
        tenon::step now;
        now.deadline = tenon::step::clock::now() + longest;
        try {
            k->run({in.data(), out.data(), static_cast<std::byte*>(const_cast<void*>(scratch.data())), nullptr, &now});
        } catch (const error&) {
            i.device = device;
            continue; // the step itself will say what is wrong, if it gets there
        }
        for (std::size_t v = 0; v < i.outputs.size(); ++v) {
            p.value(i.outputs[v]).constant = results[v];
            p.value(i.outputs[v]).producer = -1;
            p.value(i.outputs[v]).device = 0;
        }
        i.removed = true;
        ++p.folded;
    }
}

// Identities vanish; reshapes become other views of the same memory.
inline void forward_views(program& p) {
    const uses_of uses(p);
    replacements r(p.values.size());
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        program_item& i = p.items[n];
        if (i.removed || !i.predecessors.empty() || uses.awaited[n]) continue;
        const view_kind kind = view_kind_of(i);
        if (kind == view_kind::none) continue;
        i.removed = true;
        ++p.shared_views;
        if (kind == view_kind::same) r.replace(i.outputs[0], i.inputs[0]);
        else {
            p.value(i.outputs[0]).view_of = r.of(i.inputs[0]);
            p.value(i.outputs[0]).producer = -1;
        }
    }
    r.apply(p);
    for (program_value& v : p.values)
        if (v.view_of >= 0) v.view_of = r.of(v.view_of);
}

inline extents broadcast_of(const program& p, const number_list& inputs) {
    extents s;
    for (const int v : inputs) s = broadcast(s, p.value(v).type.extents).extents;
    return s;
}

// The tape of fused items, undecoded, since all of them are asked.
inline const std::shared_ptr<const tape>& tape_of(const program_item& i) {
    return i.attributes.get<std::shared_ptr<const tape>>("tape");
}

// A fused item reads a repeated tensor from where it is not repeated yet.
inline void look_through_broadcasts(program& p) {
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        if (p.items[n].removed || p.items[n].op != &fused_definition) continue;
        for (std::size_t k = 0; k < p.items[n].inputs.size(); ++k) {
            const int v = p.items[n].inputs[k];
            if (p.value(v).producer < 0) continue;
            const program_item& from = p.item(p.value(v).producer);
            if (!from.op->repeated || !from.predecessors.empty()) continue;
            const int g = from.inputs[0];
            // Outputs with the sizes of this input would lose theirs.
            bool sized = false;
            const tape& made = *tape_of(p.items[n]);
            for (int t = 0; t < made.output_count; ++t) sized = sized || made.outputs[t].like == static_cast<int>(k);
            if (sized) continue;
            const extents seen = from.op->repeated(from.attributes, p.value(g).type.extents, p.value(v).type.extents);
            const extents before = broadcast_of(p, p.items[n].inputs);
            p.items[n].inputs[k] = p.add(
                program_value{.origin = p.value(g).origin, .type = {p.value(g).type.element, seen}, .view_of = g});
            if (!(broadcast_of(p, p.items[n].inputs) == before)) p.items[n].inputs[k] = v;
        }
    }
}

// Outputs of an interpreted tape that are not used leave it. (A compiled kernel leaves out their stores.)
inline void narrow_outputs(program_item& i, const uses_of& uses) {
    if (i.op != &fused_definition || i.outputs.size() < 2 ||
        std::all_of(i.outputs.begin(), i.outputs.end(), [&](int v) { return uses[v] > 0; }))
        return;
    auto a = decode<fused_op::attributes>(i.attributes);
    if (tenon::detail::find_compiled_tape(*a.tape)) return;
    tape made = *a.tape;
    made.output_count = 0;
    std::vector<std::int64_t> merge;
    number_list outputs;
    std::vector<int> place(static_cast<std::size_t>(a.tape->output_count), -1);
    for (int t = 0, next = 0; t < a.tape->output_count; ++t) {
        const int target = a.merges(t) ? static_cast<int>(a.merge[static_cast<std::size_t>(t)]) : t;
        const int value = target == t ? i.outputs[static_cast<std::size_t>(next++)] : -1;
        if (target == t ? uses[value] == 0 : place[static_cast<std::size_t>(target)] < 0) continue;
        place[static_cast<std::size_t>(t)] = made.output_count;
        made.outputs[made.output_count++] = a.tape->outputs[t];
        merge.push_back(target == t ? -1 : place[static_cast<std::size_t>(target)]);
        if (target == t) outputs.push_back(value);
    }
    for (int t = made.output_count; t < max_tape_outputs; ++t) made.outputs[t] = tape_output{};
    a.tape = share_tape(without_dead_code(made));
    a.merge = std::move(merge);
    i.attributes = encode(a);
    i.outputs = std::move(outputs);
    i.find_reads();
}

// What nobody needs is not computed: items without effects whose values nobody reads, and single values of others where
// they may be `narrowed`. From the last item to the first, since what is dropped reads nothing.
inline void drop_unread(program& p, bool narrowed) {
    uses_of uses(p);
    for (std::size_t n = p.items.size(); n-- > 0;) {
        program_item& i = p.items[n];
        if (i.removed) continue;
        // A variable stays: who reads it may learn that it has no value yet.
        const bool acts = uses.awaited[n] > 0 || i.op->is(op_flags::stateful);
        const auto was_read = i.read;
        if (std::any_of(i.outputs.begin(), i.outputs.end(), [&](int v) { return uses[v] > 0; })) {
            if (narrowed) narrow_outputs(i, uses);
        } else if (!acts) {
            i.removed = true;
            for (const int a : i.predecessors) --uses.awaited[static_cast<std::size_t>(a)];
        }
        for (std::size_t k = 0; k < i.inputs.size(); ++k)
            if (was_read[k] && (i.removed || !i.read[k])) uses.release(p, i.inputs[k]);
    }
}

// The input that a register is; -1: it is none.
inline int input_of(const tape& t, int r) { return t.code[r].op == opcode::input ? t.code[r].a : -1; }

// What a fused item stores that is one of its inputs, or stored twice, is read where it is.
inline void forward_copies(program& p) {
    const uses_of uses(p);
    replacements r(p.values.size());
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const program_item& i = p.items[n];
        if (i.removed || i.op != &fused_definition || !i.predecessors.empty() || uses.awaited[n]) continue;
        const tape& t = *tape_of(i);
        if (static_cast<int>(i.outputs.size()) != t.output_count) continue; // some are merged
        for (int out = 0; out < t.output_count; ++out) {
            const int v = i.outputs[static_cast<std::size_t>(out)];
            const tensor_type& type = p.value(v).type;
            if (!(broadcast_of(p, i.inputs) == type.extents)) continue; // it is summed up
            int reg = t.outputs[out].reg;
            while (t.code[reg].op == opcode::cast && t.code[reg].type == type.element) reg = t.code[reg].a;
            const int k = input_of(t, reg), from = k < 0 ? -1 : i.inputs[static_cast<std::size_t>(k)];
            if (from >= 0 && p.value(from).type == type) {
                r.replace(v, r.of(from));
                continue;
            }
            for (int before = 0; before < out; ++before) {
                const int other = i.outputs[static_cast<std::size_t>(before)];
                if (t.outputs[before].reg != t.outputs[out].reg || p.value(other).type != type) continue;
                r.replace(v, r.of(other));
                break;
            }
        }
    }
    r.apply(p);
    for (program_value& v : p.values)
        if (v.view_of >= 0) v.view_of = r.of(v.view_of);
}

// What was cut rounds what it sends, and widens what it receives.
inline void make_conversions(program& p) {
    for (program_item& i : p.items) {
        if (i.removed || i.op != &convert_definition) continue;
        const element_type to = p.value(i.outputs[0]).type.element;
        tape t;
        t.add_output(t.emit(opcode::cast, to, t.emit_input(t.add_input(p.value(i.inputs[0]).type.element))), to);
        i.op = &fused_definition;
        i.attributes = encode(fused_op::attributes{share_tape(t), {}, {}});
        i.find_reads();
    }
}

} // namespace detail

} // namespace tenon::runtime

#include <tenon/runtime/plan/rewrite/rewrite_elementwise.inl>
#include <tenon/runtime/plan/rewrite/rewrite_products.inl>
#include <tenon/runtime/plan/rewrite/rewrite_rows.inl>
#include <tenon/runtime/plan/rewrite/rewrite_reductions.inl>
#include <tenon/runtime/plan/rewrite/rewrite_parts.inl>
#include <tenon/runtime/plan/rewrite/rewrite_spread.inl>
#include <tenon/runtime/plan/rewrite/rewrite_orders.inl>
#include <tenon/runtime/plan/rewrite/rewrite_keyed_rows.inl>

namespace tenon::runtime {

TENON_INLINE void rewrite(program& p, const plan_options& o) {
    detail::make_conversions(p);
    detail::forward_views(p);
    detail::fold_constants(p, o);
    if (o.fuse) {
        detail::forward_copies(p);
        detail::fuse_epilogues(p);
        detail::share_sums(p, o);
        detail::fuse_gelu(p, o);
        detail::fuse_steps(p, o);
        detail::fuse_bias_gradients(p, o);
        detail::fuse_gelu_gradients(p, o);
        detail::look_through_broadcasts(p);
    }
    detail::drop_unread(p, o.fuse);
    if (!o.fuse) return;
    detail::fuse_addends(p, o);
    detail::forward_copies(p);
    detail::drop_unread(p, true);
    detail::fuse_elementwise(p);
    detail::select_before_spreading(p);
    detail::fuse_row_sums(p, o);
    detail::join_made_and_read(p, o);
    detail::join_passes(p, o);
    detail::take_orders(p);
    detail::read_parts_in_place(p, o);
    detail::fuse_keyed_updates(p, o);
}

} // namespace tenon::runtime
