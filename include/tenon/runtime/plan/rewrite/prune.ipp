#pragma once

#include <algorithm>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/plan/rewrite/reads.hpp>

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

TENON_INLINE void set_sizes(attributes& to, const program_item& it, type_list in, const size_bindings& sizes) {
    for (const auto& [name, a] : it.origin->attributes)
        if (const auto* e = std::get_if<extents>(&a); e && !e->is_static()) to.set(name.c_str(), sizes.known(*e));
    // The sizes that an identity declares leave room for what may be fed; unless it is, they are its input's.
    if (in.size() > 0 && it.op->is(op_flags::identity) && it.origin->attributes.find("shape"))
        to.set("shape", in[0].extents);
}

namespace detail {

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

TENON_INLINE late_types infer_late(const program& p, const std::vector<int>& items,
                                   const std::vector<std::pair<int, extents>>& told) {
    late_types known{p.sizes, {}, {}};
    for (const auto& [v, sizes] : told) {
        const program_value& value = p.value(v);
        known.types.emplace(v, tensor_type{value.type.element, sizes});
        known.sizes.bind(value.origin.node->outputs[static_cast<std::size_t>(value.origin.index)].extents, sizes,
                         value.origin);
    }
    std::vector<tensor_type> in;
    for (const int n : items) {
        const program_item& it = p.item(n);
        in.clear();
        for (const int v : it.inputs) in.push_back(known.type_of(p, v));
        const type_list list(in.data(), static_cast<int>(in.size()));
        attributes& now = known.attributes.emplace(n, it.attributes).first->second;
        set_sizes(now, it, list, known.sizes);
        for (std::size_t k = 0; k < it.outputs.size(); ++k)
            known.types[it.outputs[k]] =
                type_in_step(*p.value(it.outputs[k]).origin.node, now, list, static_cast<int>(k), known.sizes, false);
    }
    return known;
}

namespace detail {

// Which nodes a request needs.
struct needed_nodes {
    struct one {
        node* which = nullptr;
        char how = 0; // 2: it runs; 1: only its sizes matter
        int item = -1;
    };
    std::vector<one> by_number;
    std::size_t count = 0;
    std::vector<node*> targets;
    std::unordered_set<const node*> fed;

    template <class IsFed> needed_nodes(const request& r, const IsFed& is_fed) {
        for (const node_output& f : r.feeds) fed.insert(f.node);
        for (const node_output& f : r.fetches)
            if (!is_fed(f)) want(f.node, 2);
        // The updates of a variable in parts are brought together by a concat: asked for their effect, they need not meet.
        for (node* t : r.targets) {
            if (!runs_when_asked(t)) continue;
            const bool only_joins = t->op->is(op_flags::joins) && t->controls.empty() &&
                                    std::all_of(t->inputs.begin(), t->inputs.end(), [&](const node_output& in) {
                                        return in.node->op->is(op_flags::updates) && !is_fed(in);
                                    });
            if (!only_joins) targets.push_back(t);
            else
                for (const node_output& in : t->inputs) targets.push_back(in.node);
        }
        for (node* t : targets) want(t, 2);
        while (!stack.empty()) {
            node* n = stack.back();
            stack.pop_back();
            const char how = of(n).how;
            for (std::size_t i = 0; i < n->inputs.size(); ++i) {
                if (is_fed(n->inputs[i])) continue;
                want(n->inputs[i].node, how == 2 && n->op->reads(n->attributes, static_cast<int>(i)) ? 2 : 1);
            }
            if (how == 2)
                for (node* c : n->controls)
                    if (runs_when_asked(c)) want(c, 2);
        }
    }
    const one& of(const node* n) const { return by_number[static_cast<std::size_t>(n->number)]; }
    // What is fed runs only where another of its outputs is needed: asking for its effect, or to run after it, does not.
    bool runs_when_asked(const node* n) const { return fed.empty() || !fed.contains(n); }

private:
    void want(node* n, char how) {
        if (n->op->is(op_flags::waits) && !all_static(n->outputs)) how = 2; // its sizes are those of what it gives
        const auto number = static_cast<std::size_t>(n->number);
        if (number >= by_number.size()) by_number.resize(number + 1); // what it needs has smaller numbers
        one& have = by_number[number];
        if (have.how >= how) return;
        if (!have.which) ++count;
        have.which = n;
        have.how = how;
        stack.push_back(n);
    }
    std::vector<node*> stack;
};

// What is fed, by feed. A variable that is fed is so for its updates, too.
inline value_numbers fed_values(const request& r) {
    value_numbers fed;
    for (std::size_t f = 0; f < r.feeds.size(); ++f) {
        fed.set(r.feeds[f], static_cast<int>(f));
        if (const node_output current{r.feeds[f].node, 1};
            r.feeds[f].index == 0 && current.node->op->is(op_flags::variable) && !fed.contains(current))
            fed.set(current, static_cast<int>(f));
    }
    return fed;
}

} // namespace detail

TENON_INLINE std::vector<const node*> nodes_that_run(const request& r) {
    const detail::value_numbers fed = detail::fed_values(r);
    const detail::needed_nodes needed(r, [&](const node_output& o) { return fed.contains(o); });
    std::vector<const node*> all;
    for (const detail::needed_nodes::one& n : needed.by_number)
        if (n.how == 2) all.push_back(n.which);
    return all;
}

TENON_INLINE program prune(const request& r) {
    program p;
    detail::value_numbers value_of = detail::fed_values(r);
    for (std::size_t f = 0; f < r.feeds.size(); ++f) {
        p.values.push_back({.origin = r.feeds[f], .type = r.feed_types[f], .feed = static_cast<int>(f)});
    }

    detail::needed_nodes needed(r, [&](const node_output& o) { return value_of.contains(o); });
    p.values.reserve(r.feeds.size() + needed.count + needed.count / 4);
    p.items.reserve(needed.count + needed.count / 8);

    size_bindings& sizes = p.sizes;
    detail::late_names late;
    for (std::size_t f = 0; f < r.feeds.size(); ++f) {
        const node_output& out = r.feeds[f];
        const extents& declared = out.node->outputs[static_cast<std::size_t>(out.index)].extents;
        sizes.bind(declared, r.feed_types[f].extents, out);
    }

    std::vector<tensor_type> in;
    for (detail::needed_nodes::one& wanted : needed.by_number) {
        node* const n = wanted.which;
        if (!n) continue;
        const bool runs = wanted.how == 2;
        if (n->op->is(op_flags::fed)) {
            number_list told_by;
            const extents known = sizes.known(n->outputs[0].extents);
            late.find(known, told_by);
            if (runs || (!known.is_static() && told_by.empty()))
                throw invalid_argument_error("placeholder " + n->name + " of type " + to_string(n->outputs[0]) +
                                             " must be fed in this step" + where_made(*n));
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
            set_sizes(it.attributes, it, {in.data(), static_cast<int>(in.size())}, sizes);
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
                if (needed.runs_when_asked(c)) it.predecessors.push_back(needed.of(c).item);
    }
    for (const node_output& f : r.fetches) p.fetches.push_back(value_of.at(f));
    for (const node* t : needed.targets) p.item(needed.of(t).item).target = true;
    p.fetched = r.fetches;
    p.feed_types = r.feed_types;
    resolve_reads(p);
    return p;
}

} // namespace tenon::runtime
