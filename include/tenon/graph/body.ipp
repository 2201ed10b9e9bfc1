#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/graph/json.hpp>
#include <tenon/op/attribute.hpp>

namespace tenon {

namespace detail {

// What each argument says of named sizes: by name, the size that stands for it.
class argument_sizes {
public:
    void bind(const extents& declared, const extents& actual) {
        for (int d = 0; d < declared.rank() && d < actual.rank(); ++d)
            if (declared[d].is_named() && !find(declared[d].name)) known_.emplace_back(declared[d].name, actual[d]);
    }
    const extent* find(const char* name) const {
        for (const auto& [known, size] : known_)
            if (std::strcmp(known, name) == 0) return &size;
        return nullptr;
    }
    extents known(extents e) const {
        for (int d = 0; d < e.rank(); ++d)
            if (e[d].is_named())
                if (const extent* size = find(e[d].name)) e[d] = *size;
        return e;
    }

private:
    std::vector<std::pair<const char*, extent>> known_;
};

inline void require_only_computes(const graph& g, const std::vector<any_tensor>& arguments) {
    argument_sizes named;
    for (const any_tensor& a : arguments) named.bind(a.extents(), a.extents());
    const auto refuse = [](const node& n, const std::string& why) {
        throw invalid_argument_error("a body of control flow cannot have node " + n.name + " (" + shown_op(n) +
                                     "): " + why);
    };
    const auto is_argument = [&](const node& n) {
        return std::any_of(arguments.begin(), arguments.end(), [&](const any_tensor& a) { return a.node() == &n; });
    };
    for (std::int64_t i = 0; i < g.size(); ++i) {
        const node& n = *g.at(i);
        const auto is = [&](op_flags f) { return n.op->is(f); };
        if (is(op_flags::fed) && !is_argument(n)) refuse(n, "what is fed is made outside, and used in it");
        const bool remembers = (is(op_flags::stateful) && !is(op_flags::shows)) || is(op_flags::resource) ||
                               is(op_flags::updates) || is(op_flags::uses);
        if (is(op_flags::waits) && !remembers)
            refuse(
                n,
                "its values say how large its result is, and a body's sizes are known before it runs; call it outside, "
                "or keep all elements, and a mask");
        if (is(op_flags::waits))
            refuse(
                n,
                "it waits, and a body does not; take what it gives outside, as much as all steps need, and use that");
        if (remembers)
            refuse(n, "it computes and nothing else; make variables and random numbers outside, as many as all steps "
                      "need, and use them in it");
        if (!n.controls.empty()) refuse(n, "it waits for nothing but its inputs; close control_dependencies around it");
        for (const tensor_type& t : n.outputs) {
            if (t.element == element_type::string) refuse(n, "texts stay outside");
            for (const extent& e : t.extents)
                if (e.is_named() && !named.find(e.name))
                    refuse(n, "its size [" + std::string(e.name) +
                                  "] is one of none of the tensors that the body is given");
        }
    }
}

} // namespace detail

TENON_INLINE body::body(graph of, std::vector<any_tensor> arguments, std::vector<any_tensor> results) :
    graph_(std::move(of)), arguments_(std::move(arguments)), results_(std::move(results)) {
    detail::require_only_computes(graph_, arguments_);
}

TENON_INLINE body body::copy_of_text(const std::string& text) {
    const graph g = graph_from_json(text);
    std::vector<any_tensor> arguments = g.collection("arguments");
    for (const any_tensor& a : arguments)
        if (!a.node()->op->is(op_flags::fed))
            throw invalid_argument_error("a body's argument " + a.name() + " is no placeholder");
    return {g, std::move(arguments), g.collection("results")};
}

TENON_INLINE std::shared_ptr<const body> body::of_text(const std::string& text) {
    constexpr std::size_t most = 256;
    static std::mutex guard;
    static auto& kept = *new std::unordered_map<std::string, std::shared_ptr<const body>>; // by text; under the guard
    {
        const std::lock_guard lock(guard);
        if (const auto at = kept.find(text); at != kept.end()) return at->second;
    }
    auto made = std::make_shared<const body>(copy_of_text(text));
    const std::lock_guard lock(guard);
    if (kept.size() >= most) kept.clear();
    return kept.emplace(text, std::move(made)).first->second;
}

TENON_INLINE std::string body::text() const { return to_json(graph_); }

TENON_INLINE std::vector<tensor_type> body::result_types(type_list given) const {
    if (static_cast<std::size_t>(given.size()) != arguments_.size())
        throw invalid_argument_error("a body of " + std::to_string(arguments_.size()) + " arguments is given " +
                                     std::to_string(given.size()));
    std::unordered_map<const node*, std::vector<tensor_type>> types;
    detail::argument_sizes sizes;
    for (int k = 0; k < given.size(); ++k) {
        const any_tensor& a = arguments_[static_cast<std::size_t>(k)];
        bool fits = given[k].element == a.element() && given[k].extents.rank() == a.rank();
        for (int d = 0; fits && d < a.rank(); ++d) // a named size is any
            fits = a.extents()[d].is_named() || equal_sizes(given[k].extents[d], a.extents()[d]).what == fault::none;
        if (!fits)
            throw invalid_argument_error("argument " + a.name() + " of a body is " + to_string(a.type()) +
                                         ", and is given " + to_string(given[k]));
        types[a.node()] = {given[k]};
        sizes.bind(a.extents(), given[k].extents);
    }
    std::vector<tensor_type> in;
    for (std::int64_t i = 0; i < graph_.size(); ++i) {
        const node& n = *graph_.at(i);
        if (types.contains(&n)) continue;
        in.clear();
        for (const node_output& o : n.inputs) in.push_back(types.at(o.node)[static_cast<std::size_t>(o.index)]);
        const type_list list(in.data(), static_cast<int>(in.size()));
        attributes now = n.attributes;
        for (const auto& [name, a] : n.attributes)
            if (const auto* e = std::get_if<extents>(&a); e && !e->is_static()) now.set(name.c_str(), sizes.known(*e));
        std::vector<tensor_type>& out = types[&n];
        for (int o = 0; o < static_cast<int>(n.outputs.size()); ++o) {
            const inferred r = judged(*n.op, now, list, o);
            if (!r)
                throw invalid_argument_error(fault_sentence(*n.op, r, list, now) + " [node " + n.name + " of a body]");
            out.push_back({r.type.element, sizes.known(r.type.extents)});
        }
    }
    std::vector<tensor_type> results;
    for (const any_tensor& r : results_) results.push_back(types.at(r.node())[static_cast<std::size_t>(r.index())]);
    return results;
}

namespace detail {

TENON_INLINE body_builder::body_builder(captured_tensors& captured) : captured_(captured), around_(graph::current()) {
    graph_state& g = *graph_.state();
    g.around = around_.state();
    g.builder = this;
}
TENON_INLINE body_builder::~body_builder() {
    graph_.state()->around = nullptr;
    graph_.state()->builder = nullptr;
}

inline std::string free_name(const graph& g, const std::string& wanted) {
    const std::lock_guard lock(g.state()->guard);
    return g.state()->unique_name(wanted);
}

TENON_INLINE any_tensor body_builder::add_placeholder(const tensor_type& type, const char* name) {
    node n{.op = &require_op("placeholder")};
    n.attributes.set("element", type.element);
    n.attributes.set("shape", type.extents);
    n.attributes = checked_attributes(*n.op, n.attributes);
    n.name = free_name(graph_, name);
    return any_tensor({restore_node(graph_, std::move(n)), 0});
}

TENON_INLINE any_tensor body_builder::add_argument(const tensor_type& type) {
    return arguments_.emplace_back(add_placeholder(type, "argument"));
}

TENON_INLINE std::vector<std::pair<any_tensor, any_tensor>> body_builder::captured() const {
    std::vector<std::pair<any_tensor, any_tensor>> all;
    for (std::size_t c = 0; c < captures_.size(); ++c)
        if (captures_[c].node()) all.emplace_back(captures_[c], captured_[c]);
    return all;
}

TENON_INLINE any_tensor body_builder::here(const any_tensor& t) {
    require_node(t.node(), "what a body of control flow gives");
    if (t.node()->graph == graph_.state()) return t;
    any_tensor around = t;
    if (t.node()->graph != around_.state() && around_.state()->builder) around = around_.state()->builder->here(t);
    if (around.node()->graph != around_.state()) return t; // of neither: who uses it says so
    if (around.element() == element_type::string)
        throw invalid_argument_error("a body of control flow cannot use " + t.name() + ", " + to_string(t.type()) +
                                     ": texts stay outside");
    const auto at = std::find_if(captured_.begin(), captured_.end(),
                                 [&](const any_tensor& c) { return c.output() == around.output(); });
    const auto place = static_cast<std::size_t>(at - captured_.begin());
    if (at == captured_.end()) captured_.push_back(around);
    captures_.resize(captured_.size());
    if (!captures_[place].node()) captures_[place] = add_placeholder(around.type(), "captured");
    return captures_[place];
}

TENON_INLINE std::vector<any_tensor> body_builder::choose(body_choice c, const std::vector<tensor_type>& types) {
    for (const tensor_type& t : types) c.results.push_back(add_placeholder(t, "chosen"));
    c.condition = here(c.condition);
    for (any_tensor& t : c.given) t = here(t);
    return choices_.emplace_back(std::move(c)).results;
}

// What outputs have become.
class node_copies {
public:
    void set(const node_output& o, const any_tensor& now) { made_.insert_or_assign(key(o), now); }
    bool has(const node_output& o) const { return made_.contains(key(o)); }
    any_tensor of(const node_output& o) const { return made_.at(key(o)); }
    /// Adds a node like n, of extents as they are now; `other`: what it is given that is no copy.
    template <class Other> void add(const graph& to, node& n, const argument_sizes& sizes, const Other& other) {
        node copied{.op = n.op, .attributes = n.attributes, .made_at = n.made_at};
        for (const auto& [name, a] : n.attributes)
            if (const auto* e = std::get_if<extents>(&a); e && !e->is_static())
                copied.attributes.set(name.c_str(), sizes.known(*e));
        for (const node_output& o : n.inputs) copied.inputs.push_back((has(o) ? of(o) : other(o)).output());
        copied.name = free_name(to, n.name);
        node* const made = restore_node(to, std::move(copied));
        for (int k = 0; k < static_cast<int>(made->outputs.size()); ++k) set({&n, k}, any_tensor({made, k}));
    }

private:
    static std::pair<const node*, int> key(const node_output& o) { return {o.node, o.index}; }
    std::map<std::pair<const node*, int>, any_tensor> made_;
};

// Of a body the part that is made for either side of a choice: what depends on it, up to where sizes do not. What follows is made once.
struct chosen_part {
    chosen_part(const graph& of, const body_choice& c, const std::vector<any_tensor>& results) {
        using numbers = std::set<std::int64_t>;
        numbers needed, open, ends; // ends: of what has sizes that depend on it
        const auto number_of = [](const auto& t) { return t.node->number; };
        const auto reads = [&](const node& n, const numbers& some) {
            return std::any_of(n.inputs.begin(), n.inputs.end(), [&](auto& o) { return some.contains(number_of(o)); });
        };
        const auto is_open = [&](const extent& e) { return e.is_dynamic() || (c.size.rank() == 1 && e == c.size[0]); };
        for (const any_tensor& r : results) needed.insert(number_of(r.output()));
        for (auto at = needed.rbegin(); at != needed.rend(); ++at)
            for (const node_output& o : of.at(*at)->inputs) needed.insert(number_of(o));
        for (const any_tensor& r : c.results) open.insert(number_of(r.output()));
        depends = open;
        for (const std::int64_t i : needed) {
            const node& n = *of.at(i);
            if (!reads(n, depends)) continue;
            depends.insert(i);
            if (!reads(n, open)) continue;
            const bool stays = std::any_of(n.outputs.begin(), n.outputs.end(), [&](const tensor_type& t) {
                return std::any_of(t.extents.begin(), t.extents.end(), is_open);
            });
            (stays ? open : ends).insert(i);
        }
        for (const any_tensor& r : results)
            if (open.contains(number_of(r.output()))) ends.insert(number_of(r.output()));
        twice = ends;
        for (auto at = twice.rbegin(); at != twice.rend(); ++at)
            for (const node_output& o : of.at(*at)->inputs)
                if (depends.contains(number_of(o))) twice.insert(number_of(o));
        const auto give = [&](const node_output& o) {
            const auto same = [&](const any_tensor& g) { return g.output() == o; };
            if (twice.contains(number_of(o)) && std::none_of(gives.begin(), gives.end(), same)) gives.emplace_back(o);
        };
        for (const std::int64_t i : needed) {
            if (twice.contains(i)) continue;
            if (depends.contains(i)) follows.push_back(of.at(i));
            for (const node_output& o : of.at(i)->inputs) give(o);
        }
        for (const any_tensor& r : results) give(r.output());
    }
    std::set<std::int64_t> depends, twice; // numbers of nodes
    std::vector<any_tensor> gives;         // what is read of it
    std::vector<node*> follows;            // what depends on that
};

// What the part of `from` gives where the body `chosen` runs.
TENON_INLINE std::vector<any_tensor> body_builder::copy(const body_choice& c, const std::string& chosen,
                                                        const chosen_part& part, const body_builder& from) {
    const body_scope in(*this);
    node_copies made;
    argument_sizes sizes;
    const auto captured = [&](const node_output& o) { return here(any_tensor(o)); };
    const std::shared_ptr<const body> side = body::of_text(chosen);
    for (std::size_t k = 0; k < c.given.size(); ++k) made.set(side->arguments()[k].output(), here(c.given[k]));
    const auto add = [&](node& n) {
        if (!made.has({&n, 0})) made.add(graph_, n, sizes, captured);
    };
    for (std::int64_t i = 0; i < side->of().size(); ++i) add(*side->of().at(i));
    for (std::size_t k = 0; k < c.results.size(); ++k) {
        const any_tensor given = made.of(side->results()[k].output());
        made.set(c.results[k].output(), given);
        sizes.bind(c.results[k].extents(), given.extents());
    }
    for (const std::int64_t i : part.twice) add(*from.of().at(i));
    std::vector<any_tensor> results;
    for (const any_tensor& t : part.gives) results.push_back(made.of(t.output()));
    return results;
}

// The results where a choice is made of what depends on it: a cond of this body. The last choice is decided first, so that no other depends on
// what is made anew.
TENON_INLINE void body_builder::decide(const body_choice& c, std::vector<any_tensor>& results) {
    constexpr int most = 8; // each makes twice what those within it make
    const body_scope in(*this);
    const chosen_part part(graph_, c, results);
    if (part.gives.empty()) return;
    int within = 0;
    for (const std::int64_t i : part.twice)
        if (const auto at = decided_.find(i); at != decided_.end()) within = std::max(within, at->second);
    if (within == most)
        throw invalid_argument_error(
            "more than " + std::to_string(most) +
            " of cond<Axis> in a body of control flow meet before they have one size, and what is made of them is made "
            "for each case: let each have one size before, as its sum has, or padded");
    captured_tensors captured;
    body_builder yes(captured), no(captured);
    const std::vector<any_tensor> if_true = yes.copy(c, c.then_body, part, *this),
                                  if_false = no.copy(c, c.else_body, part, *this);
    for (std::size_t k = 0; k < part.gives.size(); ++k)
        if (equal_shapes(if_true[k].extents(), if_false[k].extents()).what != fault::none)
            throw invalid_argument_error("what a body of control flow gives of cond<Axis> is " +
                                         to_string(if_true[k].type()) + " on one side and " +
                                         to_string(if_false[k].type()) +
                                         " on the other; it has one size: reduce it, or pad it, in the body");
    node n{.op = &require_op("cond")};
    n.attributes.set("then_body", yes.finish(if_true).text());
    n.attributes.set("else_body", no.finish(if_false).text());
    n.inputs.push_back(c.condition.output());
    for (const any_tensor& t : captured) n.inputs.push_back(t.output());
    n.name = free_name(graph_, "cond");
    node* const made = restore_node(graph_, std::move(n));
    decided_[made->number] = within + 1;

    node_copies now;
    for (std::size_t k = 0; k < part.gives.size(); ++k)
        now.set(part.gives[k].output(), any_tensor({made, static_cast<int>(k)}));
    for (node* const f : part.follows) {
        now.add(graph_, *f, {}, [](const node_output& o) { return any_tensor(o); });
        if (const auto at = decided_.find(f->number); at != decided_.end())
            decided_[now.of({f, 0}).node()->number] = at->second;
    }
    for (any_tensor& r : results)
        if (now.has(r.output())) r = now.of(r.output());
}

TENON_INLINE body needed_part(const graph& of, const std::vector<any_tensor>& arguments,
                              const std::vector<any_tensor>& results, bool with_shows) {
    graph copy;
    std::vector<node_output> made(static_cast<std::size_t>(of.size())); // the first output of each
    std::vector<char> needed(made.size());
    const auto in_copy = [&](const node_output& o) {
        const node_output& first = made[static_cast<std::size_t>(o.node->number)];
        return node_output{first.node, first.index + o.index};
    };
    for (const auto* list : {&arguments, &results})
        for (const any_tensor& t : *list) needed[static_cast<std::size_t>(t.node()->number)] = 1;
    for (std::size_t n = made.size(); n-- > 0;)
        if (needed[n])
            for (const node_output& i : of.at(static_cast<std::int64_t>(n))->inputs)
                needed[static_cast<std::size_t>(i.node->number)] = 1;
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (!needed[i]) continue;
        const node& from = *of.at(static_cast<std::int64_t>(i));
        if (!with_shows && from.op->is(op_flags::shows)) {
            made[i] = in_copy(from.inputs[0]);
            continue;
        }
        node n{.op = from.op, .attributes = from.attributes, .name = from.name};
        for (const node_output& o : from.inputs) n.inputs.push_back(in_copy(o));
        made[i] = {restore_node(copy, std::move(n)), 0};
    }
    std::vector<any_tensor> taken, given;
    for (const any_tensor& a : arguments) copy.add_to_collection("arguments", taken.emplace_back(in_copy(a.output())));
    for (const any_tensor& r : results) copy.add_to_collection("results", given.emplace_back(in_copy(r.output())));
    return {copy, std::move(taken), std::move(given)};
}

TENON_INLINE body body_builder::finish(const std::vector<any_tensor>& given) {
    std::vector<any_tensor> results = given, known = arguments_;
    for (const body_choice& c : choices_) known.insert(known.end(), c.results.begin(), c.results.end());
    for (const any_tensor& c : captures_)
        if (c.node()) known.push_back(c);
    if (!choices_.empty()) require_only_computes(graph_, known); // of what nobody needs, too
    for (std::size_t c = choices_.size(); c-- > 0;) decide(choices_[c], results);
    captures_.resize(captured_.size());
    std::vector<any_tensor> arguments = arguments_;
    for (std::size_t c = 0; c < captured_.size(); ++c)
        arguments.push_back(captures_[c].node() ? captures_[c] : add_placeholder(captured_[c].type(), "captured"));
    if (!choices_.empty()) return needed_part(graph_, arguments, results, true);
    for (const any_tensor& a : arguments) graph_.add_to_collection("arguments", a);
    for (const any_tensor& r : results) graph_.add_to_collection("results", r);
    return {graph_, std::move(arguments), results};
}

inline void enter_graph(scope_state& s, const graph& g) {
    retain(g.state());
    release(s.graph);
    s.graph = g.state();
    s.controls.clear();
    s.colocated.clear();
    s.follows = nullptr;
}
TENON_INLINE body_scope::body_scope(const body_builder& of) { enter_graph(state(), of.of()); }
TENON_INLINE outside_of_bodies::outside_of_bodies() : scope_base(current_graph()->around != nullptr) {
    if (current_graph()->around) enter_graph(state(), outermost_graph());
}

TENON_INLINE graph outermost_graph() {
    graph_state* g = current_graph();
    while (g->around) g = g->around;
    return graph(g);
}

TENON_INLINE any_tensor taken_by(body_builder& b, const any_tensor& t) { return b.here(t); }
TENON_INLINE body_builder* builder_in_scope() { return current_graph()->builder; }

TENON_INLINE bool is_around_body(const graph& g) {
    const graph_state* of = current_graph()->around;
    while (of && of != g.state()) of = of->around;
    return of != nullptr;
}

} // namespace detail
} // namespace tenon
