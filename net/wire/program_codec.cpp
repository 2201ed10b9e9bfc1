#include <net/wire/program_codec.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <net/wire/graph_codec.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/ops/collective/exchange.hpp>
#include <tenon/runtime/plan/rewrite/update_chains.hpp>

// A part refers to nodes of the session's graph, of which the other task has none. Those that it needs travel with it, as a graph
// of their own, in their order. What is asked of a node once a program is cut (segments, update chains, rewriter, order, kernels):
//
//   of the node of an item that has the node's own op    everything but device, controls, colocated and follows: name, container,
//                                                        attributes, outputs as declared, inputs as far as their nodes are
//                                                        variables or other resources (variable_of, reads_current, used_queue)
//   of a variable, a queue or another resource           the same; that it is one node wherever it is met
//   of the node of any other item (send, receive, convert), name, op, outputs as declared, and of a fused node its tape: what it is
//   of a value, of a named size, of an input             called in messages and traces, and sizes that a value is compared with
//   of two nodes                                         which comes first
//
// The first two are whole nodes, whose rules are run where they are read. Of the last a stub is enough: it has no inputs, so that
// nothing that it is made of need travel.

namespace tenon::net {

namespace {

constexpr std::uint8_t program_format = 1;

// What parts have besides their nodes' own ops.
bool is_of_cutting(const op_definition& op) {
    return &op == &send_definition || &op == &receive_definition || &op == &convert_definition;
}
bool holds_resource(const op_definition& op) { return op.is(op_flags::variable) || op.is(op_flags::resource); }

class encoder {
public:
    explicit encoder(const runtime::program& p) : p_(p) {}

    packed run() {
        require_as_cut();
        collect();
        to_.number(program_format);
        put_nodes();
        put_values();
        put_items();
        put_rest();
        return to_.take_packed();
    }

private:
    static void require(bool good, const char* what) {
        if (!good) throw internal_error(std::string("a part of a program is to be sent, but ") + what);
    }
    void require_as_cut() const {
        std::vector<int> made(p_.values.size(), -1);
        for (std::size_t n = 0; n < p_.items.size(); ++n)
            if (!p_.items[n].removed)
                for (const int o : p_.items[n].outputs) made[static_cast<std::size_t>(o)] = static_cast<int>(n);
        for (std::size_t v = 0; v < p_.values.size(); ++v) {
            const runtime::program_value& value = p_.values[v];
            require(value.producer == made[v], "a value is not made by its producer");
            require(value.view_of < 0 && !value.constant && !value.variable && !value.current && value.fetch < 0,
                    "a value was rewritten or bound already");
        }
        for (const runtime::program_item& i : p_.items)
            require(!i.kernel && (i.op == i.origin->op || is_of_cutting(*i.op)), "an item was rewritten already");
    }

    void need(const node* n, bool whole) {
        if (!needed_.try_emplace(n, false).second && !whole) return;
        whole = whole || holds_resource(*n->op);
        bool& is_whole = needed_[n];
        if (is_whole || !whole) return;
        is_whole = true;
        waiting_.push_back(n);
    }
    void collect() {
        for (const runtime::program_item& i : p_.items) need(i.origin, i.op == i.origin->op);
        for (const runtime::program_value& v : p_.values) need(v.origin.node, false);
        for (const auto& b : p_.sizes.all()) need(b.tensor.node, false);
        for (const node_output& f : p_.fetched) need(f.node, false);
        while (!waiting_.empty()) {
            const node* const n = waiting_.back();
            waiting_.pop_back();
            for (const node_output& in : n->inputs) need(in.node, false);
        }
        for (const auto& [n, whole] : needed_) nodes_.push_back(n);
        std::sort(nodes_.begin(), nodes_.end(), [](const node* a, const node* b) { return a->number < b->number; });
        for (std::size_t k = 0; k < nodes_.size(); ++k) place_.emplace(nodes_[k], static_cast<std::uint32_t>(k));
    }

    void put_nodes() {
        to_.number(static_cast<std::uint32_t>(nodes_.size()));
        for (const node* n : nodes_) {
            const bool whole = needed_.at(n);
            put_value(to_, whole);
            to_.number(n->number);
            detail::put_name(to_, n->name, "node's name");
            to_.text(n->op->name);
            if (whole) {
                detail::put_name(to_, n->container, "container's name");
                detail::put_attributes(to_, *n);
                to_.number(static_cast<std::uint32_t>(n->inputs.size()));
                for (const node_output& in : n->inputs) put_output(in);
            } else {
                const attribute* const t = n->attributes.find("tape");
                const auto* code = t ? std::get_if<std::shared_ptr<const tape>>(t) : nullptr;
                put_value(to_, code != nullptr);
                if (code) put(to_, **code);
            }
            put(to_, n->outputs);
        }
    }
    void put_output(const node_output& o) {
        to_.number(place_.at(o.node));
        to_.number(static_cast<std::uint32_t>(o.index));
    }
    template <class List> void put_numbers(const List& list) {
        to_.number(static_cast<std::uint32_t>(list.size()));
        for (const int n : list) to_.number(static_cast<std::int32_t>(n));
    }
    void put_values() {
        to_.number(static_cast<std::uint32_t>(p_.values.size()));
        for (const runtime::program_value& v : p_.values) {
            put_output(v.origin);
            put(to_, v.type);
            to_.number(static_cast<std::int32_t>(v.feed));
            to_.number(static_cast<std::int32_t>(v.device));
        }
    }
    void put_items() {
        to_.number(static_cast<std::uint32_t>(p_.items.size()));
        for (const runtime::program_item& i : p_.items) {
            to_.number(place_.at(i.origin));
            const bool own = i.op == i.origin->op;
            put_value(to_, own);
            if (!own) to_.text(i.op->name);
            const bool as_made = own && i.attributes == i.origin->attributes;
            put_value(to_, as_made);
            if (!as_made) put(to_, i.attributes);
            put_numbers(i.inputs);
            put_numbers(i.outputs);
            put_numbers(i.predecessors);
            to_.number(static_cast<std::int32_t>(i.device));
            put_value(to_, i.removed);
            put_value(to_, i.target);
        }
    }
    void put_rest() {
        put(to_, p_.feed_types);
        put_numbers(p_.fetches);
        to_.number(static_cast<std::uint32_t>(p_.fetched.size()));
        for (const node_output& f : p_.fetched) put_output(f);
        to_.number(static_cast<std::uint32_t>(p_.sizes.all().size()));
        for (const auto& b : p_.sizes.all()) {
            put(to_, extents{extent::named(b.name)});
            to_.number(b.size);
            put_output(b.tensor);
        }
    }

    const runtime::program& p_;
    value_writer to_;
    std::unordered_map<const node*, bool> needed_; // whole, or a stub
    std::vector<const node*> waiting_;             // whole ones whose inputs were not looked at
    std::vector<const node*> nodes_;               // in their order
    std::unordered_map<const node*, std::uint32_t> place_;
};

class decoder {
public:
    decoder(packed& p, int devices) : from_(p.body, p.arrays, "part of a program"), devices_(devices) {}

    program_part run() {
        if (const auto f = from_.number<std::uint8_t>(); f != program_format)
            from_.fail("its format is " + std::to_string(f) + "; this program reads " + std::to_string(program_format));
        take_nodes();
        take_values();
        take_items();
        take_edges();
        take_rest();
        from_.end();
        check_items();
        made_.names = std::move(from_.names());
        return std::move(made_);
    }

private:
    runtime::program& program() { return made_.program; }

    // Errors of f name this node or item.
    template <class F> void at(const std::string& what, const std::string& op, F&& f) {
        const auto place = [&] { return "part of a program: \"" + what + "\" (" + op + "): "; };
        try {
            f();
        } catch (const data_loss_error& e) {
            throw data_loss_error(place() + e.what());
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error(place() + e.what());
        }
    }

    void take_nodes() {
        constexpr std::size_t least = 1 + 8 + 4 + 4 + 1 + 4;
        const std::size_t count = from_.count(least);
        std::vector<node> nodes;
        nodes.reserve(count); // they refer to each other
        for (std::size_t k = 0; k < count; ++k) {
            const bool whole = from_.boolean();
            const auto number = from_.number<std::int64_t>();
            if (number < 0 || (k > 0 && number <= made_.numbers.back())) from_.fail("its nodes are not in their order");
            made_.numbers.push_back(number);
            node n{.name = from_.name()};
            const std::string op = from_.name();
            at(n.name, op, [&] {
                n.op = &tenon::detail::require_op(op);
                if (whole) take_whole(n, nodes);
                else take_stub(n);
            });
            nodes.push_back(std::move(n));
            whole_.push_back(whole);
        }
        tenon::detail::enter_nodes(made_.nodes, 0, std::move(nodes), false);
        for (std::size_t k = 0; k < count; ++k) nodes_.push_back(made_.nodes.at(static_cast<std::int64_t>(k)));
    }
    void take_whole(node& n, std::vector<node>& nodes) {
        n.container = from_.name();
        n.attributes = tenon::detail::checked_attributes(*n.op, take_attributes(from_));
        const std::size_t inputs = from_.count(8);
        for (std::size_t i = 0; i < inputs; ++i) {
            const auto place = from_.number<std::uint32_t>(), index = from_.number<std::uint32_t>();
            if (place >= nodes.size() || index >= nodes[place].outputs.size())
                from_.fail("input " + std::to_string(i) + " is output " + std::to_string(index) + " of node " +
                           std::to_string(place) + ", which does not come before it");
            n.inputs.push_back({&nodes[place], static_cast<int>(index)});
        }
        detail::judge(n, take_types(from_));
    }
    void take_stub(node& n) {
        if (holds_resource(*n.op)) from_.fail("of a node that holds something there is only the name");
        if (from_.boolean()) n.attributes.set("tape", take_tape(from_));
        n.outputs = take_types(from_);
    }

    node_output take_output() {
        const auto place = from_.number<std::uint32_t>(), index = from_.number<std::uint32_t>();
        if (place >= nodes_.size()) from_.fail("there is no node " + std::to_string(place));
        node* const n = nodes_[place];
        if (index >= n->outputs.size()) from_.fail("\"" + n->name + "\" has no output " + std::to_string(index));
        return {n, static_cast<int>(index)};
    }
    int take_device_number() {
        const auto d = from_.number<std::int32_t>();
        if (d < 0 || d >= devices_)
            from_.fail("device " + std::to_string(d) + " is asked for; this task has " + std::to_string(devices_));
        return d;
    }
    // Numbers 0 .. below - 1.
    template <class List> void take_numbers(List& to, std::size_t below, const char* what) {
        const std::size_t count = from_.count(4);
        to.reserve(count);
        for (std::size_t k = 0; k < count; ++k) {
            const auto n = from_.number<std::int32_t>();
            if (n < 0 || static_cast<std::size_t>(n) >= below)
                from_.fail(std::string(what) + " " + std::to_string(n) + " is not there, or not before it");
            to.push_back(n);
        }
    }

    void take_values() {
        const std::size_t count = from_.count(8 + 2 + 4 + 4);
        program().values.reserve(count);
        for (std::size_t k = 0; k < count; ++k) {
            runtime::program_value v{.origin = take_output(), .type = take_type(from_)};
            if (v.type.element == element_type::none) from_.fail("a value has no type");
            v.feed = from_.number<std::int32_t>();
            v.device = take_device_number();
            program().values.push_back(std::move(v));
        }
    }

    void take_items() {
        const std::size_t count = from_.count(4 + 1 + 1 + 4 + 4 + 4 + 4 + 1 + 1);
        program().items.reserve(count);
        std::vector<bool> given(program().values.size());
        for (std::size_t k = 0; k < count; ++k) {
            const auto place = from_.number<std::uint32_t>();
            if (place >= nodes_.size()) from_.fail("there is no node " + std::to_string(place));
            runtime::program_item i{.origin = nodes_[place]};
            is_whole_ = whole_[place];
            at(i.origin->name, i.origin->op->name, [&] { take_item(i, k, given); });
            program().items.push_back(std::move(i));
        }
    }
    void take_item(runtime::program_item& i, std::size_t number, std::vector<bool>& given) {
        const bool own = from_.boolean();
        i.op = own ? i.origin->op : &tenon::detail::require_op(from_.name());
        if (own && !is_whole_) from_.fail("of a node that is run there is only the name");
        if (!own && !is_of_cutting(*i.op)) from_.fail("it is run as " + std::string(i.op->name));
        const bool as_made = from_.boolean();
        if (as_made && !own) from_.fail("attributes of what the cut made are missing");
        i.attributes =
            as_made ? i.origin->attributes : tenon::detail::checked_attributes(*i.op, take_attributes(from_));
        const std::size_t values = program().values.size();
        take_numbers(i.inputs, values, "value");
        take_numbers(i.outputs, values, "value");
        for (const int o : i.outputs) {
            if (given[static_cast<std::size_t>(o)]) from_.fail("value " + std::to_string(o) + " is made twice");
            given[static_cast<std::size_t>(o)] = true;
        }
        take_numbers(i.predecessors, number, "item");
        i.device = take_device_number();
        if (!own && i.op != &convert_definition) note_edge(i);
        i.removed = from_.boolean();
        i.target = from_.boolean();
        if (!i.removed)
            for (const int o : i.outputs) program().value(o).producer = static_cast<int>(number);
    }

    void note_edge(const runtime::program_item& i) {
        const auto edge = i.attributes.get<std::int64_t>("edge");
        if (edge < 0) from_.fail("there is no edge " + std::to_string(edge));
        (i.op == &send_definition ? made_.sends : made_.receives).push_back(edge);
    }
    void take_edges() {
        for (std::vector<std::int64_t>* list : {&made_.sends, &made_.receives}) {
            std::sort(list->begin(), list->end());
            if (std::adjacent_find(list->begin(), list->end()) != list->end()) from_.fail("an edge is there twice");
        }
    }

    void take_rest() {
        runtime::program& p = program();
        p.feed_types = take_types(from_);
        if (!runtime::all_static(p.feed_types)) from_.fail("a feed's type has sizes that are no numbers");
        for (const runtime::program_value& v : p.values) {
            if (v.feed < -1 || v.feed >= static_cast<int>(p.feed_types.size()))
                from_.fail("there is no feed " + std::to_string(v.feed));
            if (v.feed >= 0 && (v.producer >= 0 || !(v.type == p.feed_types[static_cast<std::size_t>(v.feed)])))
                from_.fail("\"" + any_tensor(v.origin).name() + "\" is fed as something else than it is");
        }
        take_numbers(p.fetches, p.values.size(), "value");
        const std::size_t fetched = from_.count(8);
        if (fetched != p.fetches.size()) from_.fail("not every fetch has a name");
        for (std::size_t f = 0; f < fetched; ++f) p.fetched.push_back(take_output());
        const std::size_t sizes = from_.count(1 + 8 + 4 + 1 + 8 + 8);
        for (std::size_t s = 0; s < sizes; ++s) {
            const extents name = take_extents(from_);
            const auto size = from_.number<std::int64_t>();
            if (name.rank() != 1 || !name[0].is_named() || size < 0) from_.fail("a named size is none");
            const std::size_t known = p.sizes.all().size();
            p.sizes.bind(name, {size}, take_output());
            if (p.sizes.all().size() != known + 1) from_.fail("a named size is there twice");
        }
    }

    // ---- what the items are, once all is there

    void check_items() {
        const runtime::program& p = program();
        maker_.assign(p.values.size(), -1);
        for (const runtime::program_value& v : p.values) check_declared(v);
        for (std::size_t n = 0; n < p.items.size(); ++n) {
            runtime::program_item& i = program().items[n];
            at(i.origin->name, i.op->name, [&] {
                if (i.op == i.origin->op) check_own(i);
                check_rule(i);
                i.find_reads();
                for (std::size_t k = 0; k < i.inputs.size(); ++k) check_input(i, k, static_cast<int>(n));
            });
            for (const int o : i.outputs) maker_[static_cast<std::size_t>(o)] = static_cast<int>(n);
        }
        for (const int f : p.fetches) {
            const runtime::program_value& v = p.value(f);
            if (v.producer < 0 && v.feed < 0)
                from_.fail("\"" + any_tensor(v.origin).name() + "\" is fetched, but nothing makes it");
        }
    }

    // That a value may be its node's output, by element, rank and numbers; or that in what it travels as.
    void check_declared(const runtime::program_value& v) const {
        tensor_type declared = v.origin.node->outputs[static_cast<std::size_t>(v.origin.index)];
        const element_type e = v.type.element;
        if (declared.element == element_type::float32 && (e == element_type::bfloat16 || e == element_type::float16))
            declared.element = e;
        if (!agree(declared, v.type))
            from_.fail("\"" + any_tensor(v.origin).name() + "\" is declared " + to_string(declared) +
                       ", its value is " + to_string(v.type));
    }
    static bool agree(const tensor_type& a, const tensor_type& b) {
        if (a.element != b.element || a.extents.rank() != b.extents.rank()) return false;
        for (int d = 0; d < a.extents.rank(); ++d)
            if (a.extents[d].is_number() && b.extents[d].is_number() && !(a.extents[d] == b.extents[d])) return false;
        return true;
    }

    void check_own(const runtime::program_item& i) {
        const node& n = *i.origin;
        const bool variable = i.op->is(op_flags::variable);
        if (n.inputs.size() != i.inputs.size())
            from_.fail("it has " + std::to_string(i.inputs.size()) + " inputs, its node has " +
                       std::to_string(n.inputs.size()));
        if (i.outputs.size() > n.outputs.size() || (i.outputs.size() < n.outputs.size() && !variable) ||
            (variable && i.outputs.empty()))
            from_.fail("it has " + std::to_string(i.outputs.size()) + " outputs, its node has " +
                       std::to_string(n.outputs.size()));
        for (std::size_t k = 0; k < i.outputs.size(); ++k)
            if (!(program_value(i.outputs[k]).origin == node_output{const_cast<node*>(&n), static_cast<int>(k)}))
                from_.fail("output " + std::to_string(k) + " is a value of another node");
        (void)runtime::variable_of(i); // refuses updates of what is none
        if (variable && !variables_.insert(&n).second) from_.fail("the variable is there twice");
    }
    const runtime::program_value& program_value(int v) const { return made_.program.value(v); }

    void check_rule(const runtime::program_item& i) {
        std::vector<tensor_type> in;
        for (const int v : i.inputs) in.push_back(program_value(v).type);
        const int inputs = static_cast<int>(in.size());
        in.resize(in.size() + 4); // rules may look at operands that they are not given
        const type_list list(in.data(), inputs);
        const int outputs = i.op->outputs(i.attributes, inputs);
        if (outputs < static_cast<int>(i.outputs.size()))
            from_.fail("its op has " + std::to_string(outputs) + " outputs, there are " +
                       std::to_string(i.outputs.size()));
        for (int k = 0; k < std::max(1, static_cast<int>(i.outputs.size())); ++k) {
            inferred r = i.op->infer(i.attributes, list, k);
            if (!r) throw invalid_argument_error(fault_sentence(*i.op, r, list, i.attributes));
            if (i.outputs.empty()) break;
            const tensor_type& stated = program_value(i.outputs[static_cast<std::size_t>(k)]).type;
            r.type.extents = program().sizes.known(r.type.extents);
            if (!agree(r.type, stated))
                throw invalid_argument_error("it is stated that output " + std::to_string(k) + " is " +
                                             to_string(stated) + ", the op's rule gives " + to_string(r.type));
        }
    }

    // What is read is made before; of what is not, sizes that are not known are those of an item before it.
    void check_input(const runtime::program_item& i, std::size_t k, int number) const {
        const runtime::program& p = made_.program;
        const runtime::program_value& v = p.value(i.inputs[k]);
        const int maker = maker_[static_cast<std::size_t>(i.inputs[k])];
        const auto name = [&] { return "input " + std::to_string(k) + ", \"" + any_tensor(v.origin).name() + "\", "; };
        if (v.producer >= number) from_.fail(name() + "is made after it");
        if (i.removed || v.feed >= 0) return;
        if (i.read[k] ? v.producer < 0 : maker < 0 && !v.type.extents.is_static())
            from_.fail(name() + "is made by nothing");
        if (maker < 0 || !runtime::reads_current(p, i, k)) return;
        const op_definition& op = *p.item(maker).op;
        if ((op.is(op_flags::variable) || op.is(op_flags::updates)) && !variables_.contains(i.origin->inputs[k].node))
            from_.fail(name() + "is of a variable that is not there");
    }

    value_reader from_;
    const int devices_;
    program_part made_;
    std::vector<node*> nodes_;
    std::vector<bool> whole_; // by node: not only its name
    bool is_whole_ = false;   // the node of the item that is read
    std::vector<int> maker_;  // by value: the item before that has it as an output, also where that is not run
    std::unordered_set<const node*> variables_; // whose items came before
};

} // namespace

packed encode_program(const runtime::program& p) { return encoder(p).run(); }

program_part decode_program(packed& p, int devices) { return decoder(p, devices).run(); }

} // namespace tenon::net
