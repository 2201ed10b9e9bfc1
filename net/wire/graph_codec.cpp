#include <net/wire/graph_codec.hpp>

#include <algorithm>

#include <tenon/graph/graph_state.inl>
#include <tenon/graph/add_node.hpp>

namespace tenon::net {

namespace detail {

void put_name(value_writer& to, const std::string& name, const char* what) {
    if (name.size() > most_name_bytes)
        throw invalid_argument_error(std::string("the ") + what + " \"" + name.substr(0, 40) + "...\" has " +
                                     std::to_string(name.size()) + " bytes; names of at most " +
                                     std::to_string(most_name_bytes) + " can be sent");
    to.text(name);
}

void put_attributes(value_writer& to, const node& n) {
    try {
        put(to, n.attributes);
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error("node \"" + n.name + "\" (" + n.op->name + "): " + e.what());
    }
}

void judge(node& n, const std::vector<tensor_type>& stated) {
    const auto differ = [&](std::size_t outputs) {
        throw invalid_argument_error(std::to_string(stated.size()) + " outputs are stated, the op's rule gives " +
                                     std::to_string(outputs));
    };
    // Before there is memory for each.
    const int outputs = n.op->outputs(n.attributes, static_cast<int>(n.inputs.size()));
    if (outputs >= 0 && static_cast<std::size_t>(outputs) != stated.size()) differ(static_cast<std::size_t>(outputs));
    tenon::detail::judge_node(n);
    if (n.outputs.size() != stated.size()) differ(n.outputs.size());
    for (std::size_t o = 0; o < stated.size(); ++o)
        if (!(n.outputs[o] == stated[o]))
            throw invalid_argument_error("it is stated that output " + std::to_string(o) + " is " +
                                         to_string(stated[o]) + ", the op's rule gives " + to_string(n.outputs[o]));
}

} // namespace detail

namespace {

constexpr std::uint8_t format = 1;

void put_numbers(value_writer& to, const std::vector<node*>& nodes) {
    to.number(static_cast<std::uint32_t>(nodes.size()));
    for (const node* n : nodes) to.number(n->number);
}

void put_node(value_writer& to, const node& n) {
    detail::put_name(to, n.name, "node's name");
    to.text(n.op->name);
    detail::put_attributes(to, n);
    to.number(static_cast<std::uint32_t>(n.inputs.size()));
    for (const node_output& in : n.inputs) {
        to.number(in.node->number);
        to.number(static_cast<std::int32_t>(in.index));
    }
    put_numbers(to, n.controls);
    put_numbers(to, n.colocated);
    to.number(n.follows ? n.follows->number : std::int64_t{-1});
    put(to, n.device);
    detail::put_name(to, n.container, "container's name");
    put(to, n.outputs);
}

class appender {
public:
    appender(const graph& g, packed& p, const graph_limits& limits) :
        graph_(g), limits_(limits), from_(p.body, p.arrays, "nodes of a graph") {
        if (p.size() > limits.bytes)
            throw resource_exhausted_error("what is to be appended to the graph takes " + std::to_string(p.size()) +
                                           " bytes; " + std::to_string(limits.bytes) + " are left for it");
    }

    void run() {
        if (const auto f = from_.number<std::uint8_t>(); f != format)
            from_.fail("its format is " + std::to_string(f) + "; this program reads " + std::to_string(format));
        first_ = from_.number<std::int64_t>();
        const std::int64_t there_are = graph_.size();
        if (first_ != there_are)
            throw aborted_error("the graph has " + std::to_string(there_are) + " nodes, but is to be extended from " +
                                std::to_string(first_) +
                                ": another client has extended it; open a session of your own for each client");
        const auto seed = from_.number<std::uint64_t>();
        constexpr std::size_t least = 4 + 4 + 2 + 4 + 4 + 4 + 8 + 4 + 4 + 4;
        const std::size_t count = from_.count(least);
        if (static_cast<std::int64_t>(count) > limits_.nodes - std::min(first_, limits_.nodes))
            throw resource_exhausted_error("the graph would have " + std::to_string(first_ + std::int64_t(count)) +
                                           " nodes; it may have " + std::to_string(limits_.nodes));
        nodes_.reserve(count); // they refer to each other
        for (std::size_t n = 0; n < count; ++n) add();
        take_collections();
        from_.end();
        enter(seed);
    }

private:
    struct member {
        std::string collection;
        std::int64_t node;
        int index;
    };

    // A node that is there, or comes before the one that asks.
    node* known(std::int64_t number, const char* what) {
        if (number >= 0 && number < first_) return graph_.at(number);
        if (number < 0 || number >= first_ + static_cast<std::int64_t>(nodes_.size()))
            from_.fail(std::string(what) + " is node " + std::to_string(number) + ", which does not come before it");
        return &nodes_[static_cast<std::size_t>(number - first_)];
    }
    void take_known(std::vector<node*>& to, const char* what) {
        const std::size_t n = from_.count(8);
        for (std::size_t i = 0; i < n; ++i) to.push_back(known(from_.number<std::int64_t>(), what));
    }

    void add() {
        node n{.name = from_.name()};
        const std::string op = from_.name();
        const auto place = [&] {
            return "node " + std::to_string(first_ + static_cast<std::int64_t>(nodes_.size())) + ", \"" + n.name +
                   "\" (" + op + "): ";
        };
        try {
            if (n.name.empty()) from_.fail("it has no name");
            n.op = &tenon::detail::require_op(op);
            n.attributes = tenon::detail::checked_attributes(*n.op, take_attributes(from_));
            const std::size_t inputs = from_.count(12);
            for (std::size_t i = 0; i < inputs; ++i) {
                node* const source = known(from_.number<std::int64_t>(), "an input");
                const auto index = from_.number<std::int32_t>();
                if (index < 0 || static_cast<std::size_t>(index) >= source->outputs.size())
                    throw invalid_argument_error("it takes output " + std::to_string(index) + " of \"" + source->name +
                                                 "\", which has " + std::to_string(source->outputs.size()));
                n.inputs.push_back({source, index});
            }
            take_known(n.controls, "a control input");
            take_known(n.colocated, "a colocated node");
            if (const auto follows = from_.number<std::int64_t>(); follows != -1)
                n.follows = known(follows, "the node that it follows");
            n.device = take_device(from_);
            n.container = from_.name();
            detail::judge(n, take_types(from_));
        } catch (const data_loss_error& e) {
            throw data_loss_error(place() + e.what());
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error(place() + e.what());
        }
        nodes_.push_back(std::move(n));
    }

    void take_collections() {
        const std::size_t lists = from_.count(4 + 4 + 4);
        for (std::size_t c = 0; c < lists; ++c) {
            const std::string name = from_.name();
            const std::size_t known_members = from_.number<std::uint32_t>();
            const std::size_t there_are = graph_.collection(name).size();
            if (there_are != known_members)
                throw aborted_error("collection \"" + name + "\" has " + std::to_string(there_are) + " members, not " +
                                    std::to_string(known_members) + ": another client has extended it");
            const std::size_t members = from_.count(12);
            for (std::size_t m = 0; m < members; ++m) {
                const auto number = from_.number<std::int64_t>();
                const auto index = from_.number<std::int32_t>();
                const node* const n = known(number, "a member of a collection");
                // An operation is a member as output 0 of what has none.
                if (index < 0 || (index > 0 && static_cast<std::size_t>(index) >= n->outputs.size()))
                    from_.fail("collection \"" + name + "\" has output " + std::to_string(index) + " of \"" + n->name +
                               "\"");
                members_.push_back({name, number, index});
            }
        }
    }

    void enter(std::uint64_t seed) {
        tenon::detail::enter_nodes(graph_, first_, std::move(nodes_), true);
        graph g = graph_;
        g.set_seed(seed);
        for (const member& m : members_) g.add_to_collection(m.collection, any_tensor({g.at(m.node), m.index}));
    }

    const graph& graph_;
    const graph_limits& limits_;
    value_reader from_;
    std::int64_t first_ = 0;
    std::vector<node> nodes_;
    std::vector<member> members_;
};

} // namespace

packed encode_nodes(const graph& g, const graph_mark& sent, graph_mark& now) {
    value_writer to;
    const std::int64_t size = g.size();
    to.number(format);
    to.number(sent.nodes);
    to.number(g.seed());
    to.number(static_cast<std::uint32_t>(size - sent.nodes));
    for (std::int64_t n = sent.nodes; n < size; ++n) put_node(to, *g.at(n));

    struct grown {
        std::string name;
        std::size_t known;
        std::vector<node_output> members;
    };
    std::vector<grown> lists;
    graph_mark mark{size, sent.members};
    for (const std::string& name : g.collections()) {
        const auto at = sent.members.find(name);
        grown list{name, at == sent.members.end() ? 0 : at->second, {}};
        const std::vector<any_tensor> all = g.collection(name);
        // Up to a member whose node was made meanwhile: it is sent the next time.
        for (std::size_t m = list.known; m < all.size() && all[m].node()->number < size; ++m)
            list.members.push_back(all[m].output());
        if (list.members.empty()) continue;
        mark.members[name] = list.known + list.members.size();
        lists.push_back(std::move(list));
    }
    to.number(static_cast<std::uint32_t>(lists.size()));
    for (const grown& list : lists) {
        detail::put_name(to, list.name, "collection's name");
        to.number(static_cast<std::uint32_t>(list.known));
        to.number(static_cast<std::uint32_t>(list.members.size()));
        for (const node_output& m : list.members) {
            to.number(m.node->number);
            to.number(static_cast<std::int32_t>(m.index));
        }
    }
    now = std::move(mark);
    return to.take_packed();
}

void append_nodes(const graph& g, packed& p, const graph_limits& limits) { appender(g, p, limits).run(); }

} // namespace tenon::net
