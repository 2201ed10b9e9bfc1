#pragma once

#include <algorithm>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/graph/attribute.hpp>
#include <tenon/ops/assembly.hpp>
#include <tenon/ops/control.hpp>
#include <tenon/runtime/plan/prune.hpp>
#include <tenon/runtime/plan/reads.hpp>

namespace tenon::runtime {

namespace detail {

// The program's values of the graph's tensors.
class value_numbers {
public:
    bool contains(const node_output& o) const {
        const std::size_t n = place_of(o);
        return n < first_.size() && first_[n] >= 0 && values_[slot_of(o)] >= 0;
    }
    int at(const node_output& o) const { return values_[slot_of(o)]; }
    void set(const node_output& o, int value) {
        const std::size_t n = place_of(o);
        if (n >= first_.size()) first_.resize(std::max(n + 1, 2 * first_.size()), -1);
        if (first_[n] < 0) {
            first_[n] = static_cast<int>(values_.size());
            values_.resize(values_.size() + o.node->outputs.size(), -1);
        }
        values_[slot_of(o)] = value;
    }

private:
    static std::size_t place_of(const node_output& o) { return static_cast<std::size_t>(o.node->number); }
    std::size_t slot_of(const node_output& o) const { return static_cast<std::size_t>(first_[place_of(o)] + o.index); }
    std::vector<int> first_;  // by the node's number: the slot of its first output, or -1
    std::vector<int> values_; // by slot
};

} // namespace detail

namespace detail {

// The attributes that an item has in this step, where named sizes are known and its inputs are of these types; the sizes of
// `it` itself may be open still.
inline void set_sizes(program_item& it, type_list in, const size_bindings& sizes) {
    for (const auto& [name, a] : it.origin->attributes)
        if (const auto* e = std::get_if<extents>(&a); e && !e->is_static())
            it.attributes.set(name.c_str(), sizes.known(*e));
    // The sizes that an identity declares leave room for what may be fed; unless it is, they are its input's.
    if (in.size() > 0 && it.op->is(op_flags::identity) && it.origin->attributes.find("shape"))
        it.attributes.set("shape", in[0].extents);
}

// The named sizes that only a value tells, and the item that will.
class late_names {
public:
    void add(const extents& e, int item) {
        for (const extent& size : e)
            if (size.is_named()) known_.emplace_back(size.name, item);
    }
    // Appends the items that tell sizes which are open in e.
    void find(const extents& e, number_list& items) const {
        if (known_.empty()) return;
        for (const extent& size : e)
            if (size.is_named())
                for (const auto& [name, item] : known_)
                    if (tenon::detail::same_text(name, size.name) &&
                        std::find(items.begin(), items.end(), item) == items.end())
                        items.push_back(item);
    }

private:
    std::vector<std::pair<const char*, int>> known_;
};

} // namespace detail

TENON_INLINE void infer_late(program& p, const std::vector<bool>& items, const std::vector<int>& told) {
    std::vector<bool> late(p.values.size());
    for (const int v : told) late[static_cast<std::size_t>(v)] = true;
    std::vector<tensor_type> in;
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        program_item& it = p.items[n];
        const auto is_late = [&](int v) { return late[static_cast<std::size_t>(v)]; };
        const auto is_open = [&](int v) { return !p.value(v).type.extents.is_static(); };
        if (!items[n] || (std::none_of(it.inputs.begin(), it.inputs.end(), is_late) &&
                          std::none_of(it.outputs.begin(), it.outputs.end(), is_open)))
            continue;
        in.clear();
        for (const int v : it.inputs) in.push_back(p.value(v).type);
        const type_list list(in.data(), static_cast<int>(in.size()));
        detail::set_sizes(it, list, p.sizes);
        for (std::size_t k = 0; k < it.outputs.size(); ++k) {
            program_value& v = p.value(it.outputs[k]);
            // What was known may turn out not to fit.
            late[static_cast<std::size_t>(it.outputs[k])] = !v.type.extents.is_static();
            v.type = type_in_step(*v.origin.node, it.attributes, list, static_cast<int>(k), p.sizes, false);
        }
    }
}

TENON_INLINE program prune(const request& r) {
    program p;
    detail::value_numbers value_of;
    for (std::size_t f = 0; f < r.feeds.size(); ++f) {
        value_of.set(r.feeds[f], static_cast<int>(p.values.size()));
        // A variable that is fed is so for its updates, too.
        if (const node_output current{r.feeds[f].node, 1};
            r.feeds[f].index == 0 && current.node->op->is(op_flags::variable) && !value_of.contains(current))
            value_of.set(current, static_cast<int>(p.values.size()));
        program_value v;
        v.origin = r.feeds[f];
        v.type = r.feed_types[f];
        v.feed = static_cast<int>(f);
        p.values.push_back(std::move(v));
    }

    // Which nodes run (2), and of which only the sizes matter (1).
    struct needed {
        node* which = nullptr;
        char how = 0;
        int item = -1;
    };
    std::vector<needed> need; // by number
    std::vector<node*> stack;
    std::size_t count = 0;
    const auto want = [&](node* n, char how) {
        if (n->op->is(op_flags::waits) && !all_static(n->outputs)) how = 2; // its sizes are those of what it gives
        const auto number = static_cast<std::size_t>(n->number);
        if (number >= need.size()) need.resize(number + 1); // what it needs has smaller numbers
        needed& have = need[number];
        if (have.how >= how) return;
        if (!have.which) ++count;
        have.which = n;
        have.how = how;
        stack.push_back(n);
    };
    // What is fed runs only where another of its outputs is needed: asking for its effect, or to run after it, does not.
    std::unordered_set<const node*> fed;
    for (const node_output& f : r.feeds) fed.insert(f.node);
    const auto runs_when_asked = [&](const node* n) { return fed.empty() || !fed.contains(n); };
    for (const node_output& f : r.fetches)
        if (!value_of.contains(f)) want(f.node, 2);
    // The updates of a variable in parts are brought together by a concat: asked for their effect, they need not meet.
    std::vector<node*> targets;
    for (node* t : r.targets) {
        if (!runs_when_asked(t)) continue;
        const bool only_joins = t->op == &concat_definition && t->controls.empty() &&
                                std::all_of(t->inputs.begin(), t->inputs.end(), [&](const node_output& in) {
                                    return in.node->op->is(op_flags::updates) && !value_of.contains(in);
                                });
        if (!only_joins) targets.push_back(t);
        else
            for (const node_output& in : t->inputs) targets.push_back(in.node);
    }
    for (node* t : targets) want(t, 2);
    while (!stack.empty()) {
        node* n = stack.back();
        stack.pop_back();
        const char how = need[static_cast<std::size_t>(n->number)].how;
        for (std::size_t i = 0; i < n->inputs.size(); ++i) {
            if (value_of.contains(n->inputs[i])) continue;
            want(n->inputs[i].node, how == 2 && n->op->reads(n->attributes, static_cast<int>(i)) ? 2 : 1);
        }
        if (how == 2)
            for (node* c : n->controls)
                if (runs_when_asked(c)) want(c, 2);
    }
    p.values.reserve(r.feeds.size() + count + count / 4);
    p.items.reserve(count + count / 8);

    size_bindings& sizes = p.sizes;
    detail::late_names late;
    for (std::size_t f = 0; f < r.feeds.size(); ++f) {
        const node_output& out = r.feeds[f];
        const extents& declared = out.node->outputs[static_cast<std::size_t>(out.index)].extents;
        sizes.bind(declared, r.feed_types[f].extents, out);
    }

    std::vector<tensor_type> in;
    for (needed& wanted : need) {
        node* const n = wanted.which;
        if (!n) continue;
        const bool runs = wanted.how == 2;
        if (n->op->is(op_flags::fed)) {
            number_list told_by;
            const extents known = sizes.known(n->outputs[0].extents);
            late.find(known, told_by);
            if (runs || (!known.is_static() && told_by.empty()))
                throw invalid_argument_error("placeholder " + n->name + " of type " + to_string(n->outputs[0]) +
                                             " must be fed in this step");
        }
        const int index = wanted.item = static_cast<int>(p.items.size());
        program_item& it = p.items.emplace_back();
        it.origin = n;
        it.op = n->op;
        it.attributes = n->attributes;
        it.removed = !runs;
        in.clear();
        it.inputs.reserve(n->inputs.size());
        it.outputs.reserve(n->outputs.size());
        bool as_made = all_static(n->outputs); // the rule was asked the same when the node was made
        bool open = n->op->is(op_flags::waits);
        for (std::size_t k = 0; k < n->inputs.size(); ++k) {
            const int v = value_of.at(n->inputs[k]);
            it.inputs.push_back(v);
            as_made = as_made && p.value(v).type == n->input_type(static_cast<int>(k));
            open = open || !p.value(v).type.extents.is_static();
        }
        for (const auto& [name, a] : n->attributes)
            if (const auto* e = std::get_if<extents>(&a); e && !e->is_static()) {
                if (!open) late.find(sizes.known(*e), it.predecessors);
                as_made = false;
            }
        open = open || !it.predecessors.empty();
        if (!as_made) {
            for (const int v : it.inputs) in.push_back(p.value(v).type);
            detail::set_sizes(it, {in.data(), static_cast<int>(in.size())}, sizes);
        }
        const type_list list(in.data(), static_cast<int>(in.size()));
        for (int k = 0; k < static_cast<int>(n->outputs.size()); ++k) {
            if (k == 1 && n->op->is(op_flags::variable)) { // until resolve_reads looks who reads it
                if (!value_of.contains({n, 1})) value_of.set({n, 1}, value_of.at({n, 0}));
                continue;
            }
            const tensor_type& declared = n->outputs[static_cast<std::size_t>(k)];
            const tensor_type t = as_made ? declared : type_in_step(*n, it.attributes, list, k, sizes, open);
            if (runs && n->op->is(op_flags::waits)) late.add(t.extents, index);
            const node_output out{n, k};
            const bool fed_itself = value_of.contains(out); // the node may run for its other outputs, this is replaced
            const int made = static_cast<int>(p.values.size());
            if (!fed_itself) value_of.set(out, made);
            it.outputs.push_back(made);
            program_value& v = p.values.emplace_back();
            v.origin = out;
            v.type = t;
            v.producer = runs || fed_itself ? index : -1;
        }
        it.find_reads();
        if (runs)
            for (const node* c : n->controls)
                if (runs_when_asked(c)) it.predecessors.push_back(need[static_cast<std::size_t>(c->number)].item);
    }
    for (const node_output& f : r.fetches) p.fetches.push_back(value_of.at(f));
    for (const node* t : targets) p.item(need[static_cast<std::size_t>(t->number)].item).target = true;
    p.fetched = r.fetches;
    p.feed_types = r.feed_types;
    resolve_reads(p);
    return p;
}

} // namespace tenon::runtime
