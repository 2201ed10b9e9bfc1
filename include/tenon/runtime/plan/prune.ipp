#pragma once

#include <algorithm>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/graph/attribute.hpp>
#include <tenon/ops/control.hpp>
#include <tenon/runtime/plan/prune.hpp>
#include <tenon/runtime/plan/reads.hpp>

namespace tenon::runtime {

namespace detail {

// The values that named sizes have in this step, and who said so.
class size_bindings {
public:
    // Checks concrete sizes against declared ones and learns the named.
    void bind(const extents& declared, const extents& actual, const node_output& tensor) {
        for (int i = 0; i < declared.rank(); ++i) {
            const extent& d = declared[i];
            if (d.is_number()) {
                if (!(d == actual[i])) disagree(declared, actual, tensor);
            } else if (d.is_named()) {
                const binding* known = find(d.name);
                if (!known) known_.push_back({d.name, actual[i].size, tensor});
                else if (known->size != actual[i].size)
                    throw invalid_argument_error("size " + std::string(d.name) + " is " + std::to_string(known->size) +
                                                 " in " + any_tensor(known->tensor).name() + " and " +
                                                 std::to_string(actual[i].size) + " in " + any_tensor(tensor).name() +
                                                 "; in one step a named size has one value");
            }
        }
    }
    // The same extents with named sizes replaced by their values.
    extents known(extents e) const {
        for (int i = 0; i < e.rank(); ++i)
            if (e[i].is_named())
                if (const binding* b = find(e[i].name)) e[i] = extent(b->size);
        return e;
    }

private:
    struct binding {
        const char* name;
        std::int64_t size;
        node_output tensor;
    };
    const binding* find(const char* name) const {
        for (const binding& b : known_)
            if (tenon::detail::same_text(b.name, name)) return &b;
        return nullptr;
    }
    [[noreturn]] static void disagree(const extents& declared, const extents& actual, const node_output& tensor) {
        throw invalid_argument_error(any_tensor(tensor).name() + ": declared as " + to_string(declared) +
                                     ", but its sizes in this step are " + to_string(actual));
    }
    std::vector<binding> known_;
};

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

inline bool all_static(const std::vector<tensor_type>& types) {
    return std::all_of(types.begin(), types.end(), [](const tensor_type& t) { return t.extents.is_static(); });
}

// The type of output k by its rule, given the sizes that this step has.
inline tensor_type type_in_step(node& n, const attributes& a, type_list in, int k, size_bindings& sizes) {
    inferred t = n.op->infer(a, in, k);
    if (!t) {
        op_definition shown = *n.op;
        shown.name = shown_op(n);
        throw invalid_argument_error(fault_sentence(shown, t.what, in, a) + " in this step's sizes [node " + n.name +
                                     " (" + shown.name + ")]");
    }
    t.type.extents = sizes.known(t.type.extents);
    const bool same = n.op->is(op_flags::identity) && !n.op->is(op_flags::source);
    const any_tensor known(same ? n.inputs[0] : node_output{&n, k}); // to the user
    if (!t.type.extents.is_static())
        throw invalid_argument_error(known.name() + ": its sizes " + to_string(t.type.extents) +
                                     " are not known from what is fed");
    if (!is_countable(t.type)) // so that sizes can be multiplied from here on
        throw resource_exhausted_error(known.name() + ": in this step's sizes it is " + to_string(t.type) +
                                       ", more than 2^62 bytes; feed smaller tensors");
    sizes.bind(n.outputs[static_cast<std::size_t>(k)].extents, t.type.extents, known.output());
    return t.type;
}

} // namespace detail

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
    for (node* t : r.targets)
        if (runs_when_asked(t)) want(t, 2);
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

    detail::size_bindings sizes;
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
            const extents known = sizes.known(n->outputs[0].extents);
            if (runs || !known.is_static())
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
        bool as_made = detail::all_static(n->outputs); // the rule was asked the same when the node was made
        for (std::size_t k = 0; k < n->inputs.size(); ++k) {
            const int v = value_of.at(n->inputs[k]);
            it.inputs.push_back(v);
            as_made = as_made && p.value(v).type == n->input_type(static_cast<int>(k));
        }
        for (const auto& [name, a] : n->attributes)
            if (const auto* e = std::get_if<extents>(&a); e && !e->is_static()) {
                it.attributes.set(name.c_str(), sizes.known(*e));
                as_made = false;
            }
        if (!as_made) {
            for (const int v : it.inputs) in.push_back(p.value(v).type);
            // The sizes that an identity declares leave room for what may be fed; unless it is, they are its input's.
            if (n->op->is(op_flags::identity) && n->attributes.find("shape")) it.attributes.set("shape", in[0].extents);
        }
        const type_list list(in.data(), static_cast<int>(in.size()));
        for (int k = 0; k < static_cast<int>(n->outputs.size()); ++k) {
            if (k == 1 && n->op->is(op_flags::variable)) { // until resolve_reads looks who reads it
                if (!value_of.contains({n, 1})) value_of.set({n, 1}, value_of.at({n, 0}));
                continue;
            }
            const tensor_type& declared = n->outputs[static_cast<std::size_t>(k)];
            const tensor_type t = as_made ? declared : detail::type_in_step(*n, it.attributes, list, k, sizes);
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
    for (const node* t : r.targets)
        if (runs_when_asked(t)) p.item(need[static_cast<std::size_t>(t->number)].item).target = true;
    p.fetched = r.fetches;
    p.feed_types = r.feed_types;
    resolve_reads(p);
    return p;
}

} // namespace tenon::runtime
