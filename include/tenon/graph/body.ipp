#pragma once

#include <algorithm>
#include <cstring>
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
            const inferred r = n.op->infer(now, list, o);
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
    node n;
    n.op = &require_op("placeholder");
    n.attributes.set("element", type.element);
    n.attributes.set("shape", type.extents);
    n.attributes = checked_attributes(*n.op, n.attributes);
    n.name = free_name(graph_, name);
    return any_tensor({restore_node(graph_, std::move(n)), 0});
}

TENON_INLINE any_tensor body_builder::add_argument(const tensor_type& type) {
    return arguments_.emplace_back(add_placeholder(type, "argument"));
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
    constexpr std::size_t most = 8; // of which each makes twice what the others make
    if (choices_.size() + choices_around_ == most)
        throw invalid_argument_error(
            "more than " + std::to_string(most) +
            " of cond<Axis> in a body of control flow; each has all that is made of it made twice");
    for (const tensor_type& t : types) c.results.push_back(add_placeholder(t, "chosen"));
    c.condition = here(c.condition);
    for (any_tensor& t : c.given) t = here(t);
    return choices_.emplace_back(std::move(c)).results;
}

// What `wanted`, tensors of `from`, are where the body `chosen` runs: that body, and all that is made of what it gives.
TENON_INLINE std::vector<any_tensor> body_builder::copy(const body_choice& c, const std::string& chosen,
                                                        const std::vector<any_tensor>& wanted,
                                                        const body_builder& from) {
    const body_scope in(*this);
    std::unordered_map<const node*, node_output> made; // the first output of each node
    argument_sizes sizes;
    const auto mapped = [&](const node_output& o, bool of_body) {
        const auto at = made.find(o.node);
        if (at != made.end()) return any_tensor({at->second.node, at->second.index + o.index});
        return of_body ? any_tensor() : here(any_tensor(o));
    };
    const auto add = [&](const node& n, bool of_body) {
        node copied;
        copied.op = n.op;
        copied.made_at = n.made_at;
        copied.attributes = n.attributes;
        for (const auto& [name, a] : n.attributes)
            if (const auto* e = std::get_if<extents>(&a); e && !e->is_static())
                copied.attributes.set(name.c_str(), sizes.known(*e));
        for (const node_output& o : n.inputs) copied.inputs.push_back(mapped(o, of_body).output());
        copied.name = free_name(graph_, n.name);
        made[&n] = {restore_node(graph_, std::move(copied)), 0};
    };

    const std::shared_ptr<const body> side = body::of_text(chosen);
    for (std::size_t k = 0; k < c.given.size(); ++k) made[side->arguments()[k].node()] = here(c.given[k]).output();
    for (std::int64_t i = 0; i < side->of().size(); ++i)
        if (const node& n = *side->of().at(i); !made.contains(&n)) add(n, true);
    for (std::size_t k = 0; k < c.results.size(); ++k) {
        const any_tensor given = mapped(side->results()[k].output(), true);
        made[c.results[k].node()] = given.output();
        sizes.bind(c.results[k].extents(), given.extents());
    }

    // In order of their numbers, of what is wanted.
    std::set<std::int64_t> needed;
    const auto need = [&](const any_tensor& t) { needed.insert(t.node()->number); };
    const auto choice_of = [&](const node& n) {
        return std::find_if(from.choices_.begin(), from.choices_.end(), [&](const body_choice& other) {
            return std::any_of(other.results.begin(), other.results.end(),
                               [&](const any_tensor& r) { return r.node() == &n; });
        });
    };
    std::for_each(wanted.begin(), wanted.end(), need);
    for (auto at = needed.rbegin(); at != needed.rend(); ++at) {
        const node& n = *from.of().at(*at);
        for (const node_output& o : n.inputs) needed.insert(o.node->number);
        if (const auto other = choice_of(n); other != from.choices_.end()) {
            need(other->condition);
            std::for_each(other->given.begin(), other->given.end(), need);
        }
    }
    const auto depends = [&](const any_tensor& t) { return made.contains(t.node()); };
    for (const std::int64_t i : needed) {
        const node& n = *from.of().at(i);
        if (made.contains(&n)) continue;
        if (const auto at = choice_of(n); at != from.choices_.end()) {
            const body_choice& other = *at;
            if (!depends(other.condition) && std::none_of(other.given.begin(), other.given.end(), depends)) continue;
            body_choice own{mapped(other.condition.output(), false), other.then_body, other.else_body, {}, {}};
            for (const any_tensor& t : other.given) own.given.push_back(mapped(t.output(), false));
            std::vector<tensor_type> types;
            for (const any_tensor& r : other.results) types.push_back({r.element(), sizes.known(r.extents())});
            own.results = choose(std::move(own), types);
            for (std::size_t k = 0; k < types.size(); ++k) made[other.results[k].node()] = own.results[k].output();
        }
        if (std::any_of(n.inputs.begin(), n.inputs.end(), [&](const node_output& o) { return made.contains(o.node); }))
            add(n, false);
    }
    std::vector<any_tensor> results;
    for (const any_tensor& t : wanted) results.push_back(depends(t) ? mapped(t.output(), false) : any_tensor());
    return results;
}

// The results where a choice is made of all that depends on it: a cond of this body.
TENON_INLINE std::vector<any_tensor> body_builder::decided(const body_choice& c,
                                                           const std::vector<any_tensor>& results) {
    const body_scope in(*this);
    captured_tensors captured;
    body_builder yes(captured), no(captured);
    yes.choices_around_ = no.choices_around_ = choices_around_ + 1;
    std::vector<any_tensor> all = results, then_gives, else_gives;
    std::vector<std::size_t> chosen;
    const std::vector<any_tensor> if_true = yes.copy(c, c.then_body, results, *this),
                                  if_false = no.copy(c, c.else_body, results, *this);
    for (std::size_t k = 0; k < results.size(); ++k) {
        if (!if_true[k].node()) continue;
        if (equal_shapes(if_true[k].extents(), if_false[k].extents()).what != fault::none)
            throw invalid_argument_error("what a body of control flow gives of cond<Axis> is " +
                                         to_string(if_true[k].type()) + " on one side and " +
                                         to_string(if_false[k].type()) +
                                         " on the other; it has one size: reduce it, or pad it, in the body");
        chosen.push_back(k);
        then_gives.push_back(if_true[k]);
        else_gives.push_back(if_false[k]);
    }
    if (chosen.empty()) return all;
    node n;
    n.op = &require_op("cond");
    n.attributes.set("then_body", yes.finish(then_gives).text());
    n.attributes.set("else_body", no.finish(else_gives).text());
    n.inputs.push_back(c.condition.output());
    for (const any_tensor& t : captured) n.inputs.push_back(t.output());
    n.name = free_name(graph_, "cond");
    node* const made = restore_node(graph_, std::move(n));
    for (std::size_t k = 0; k < chosen.size(); ++k) all[chosen[k]] = any_tensor({made, static_cast<int>(k)});
    return all;
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
        node n;
        n.op = from.op;
        n.name = from.name;
        n.attributes = from.attributes;
        for (const node_output& o : from.inputs) n.inputs.push_back(in_copy(o));
        made[i] = {restore_node(copy, std::move(n)), 0};
    }
    std::vector<any_tensor> taken, given;
    for (const any_tensor& a : arguments) copy.add_to_collection("arguments", taken.emplace_back(in_copy(a.output())));
    for (const any_tensor& r : results) copy.add_to_collection("results", given.emplace_back(in_copy(r.output())));
    return {copy, std::move(taken), std::move(given)};
}

TENON_INLINE body body_builder::finish(const std::vector<any_tensor>& given) {
    std::vector<any_tensor> results = given;
    for (std::size_t c = 0; c < choices_.size(); ++c) results = decided(choices_[c], results);
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
