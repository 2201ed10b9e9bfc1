#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <queue>
#include <unordered_map>

#include <tenon/core/error.hpp>
#include <tenon/core/text/edit_distance.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/graph/json.hpp>
#include <tenon/graph/json_read.hpp>
#include <tenon/io/json/json_parse.hpp>

namespace tenon {

namespace detail {

class graph_reader {
public:
    explicit graph_reader(const std::string& text) : root_(parse_json(text, "graph JSON")) {}

    graph read() {
        try {
            read_header();
            list_nodes();
            find_edges();
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error("graph JSON: " + std::string(e.what()));
        }
        for (const std::size_t n : order()) add(n);
        try {
            read_collections();
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error("graph JSON: " + std::string(e.what()));
        }
        return graph_;
    }

private:
    struct entry {
        std::string name = {}, op = {};
        const json_value* source = nullptr;
        std::vector<std::pair<std::size_t, int>> inputs = {}; // entry, output
        std::vector<std::size_t> controls = {}, colocated = {};
        std::vector<std::size_t> follows = {}; // one, or none
        node* made = nullptr;
    };

    static void allow_only(const json_value& v, std::initializer_list<const char*> names, const std::string& of) {
        for (const json_member& m : *v.get<json_value::object>())
            if (std::none_of(names.begin(), names.end(), [&](const char* n) { return m.name == n; })) {
                std::string known;
                for (const char* n : names) known += (known.empty() ? "" : ", ") + std::string(n);
                json_mistake(of + " has no member \"" + m.name + "\"; there are " + known);
            }
    }

    void read_header() {
        (void)json_get<json_value::object>(root_, "an object", "a graph");
        const json_value* format = root_.find("format");
        if (!format || !format->get<std::string>() || *format->get<std::string>() != "tenon graph")
            json_mistake("it does not say \"format\": \"tenon graph\"");
        const json_value* version = root_.find("version");
        if (!version || !version->get<std::int64_t>() || *version->get<std::int64_t>() != graph_format_version)
            json_mistake("its version is " + (version ? version->described() : std::string("not given")) +
                         "; this program reads version " + std::to_string(graph_format_version));
        allow_only(root_, {"format", "version", "seed", "nodes", "collections"}, "a graph");
        if (const json_value* seed = root_.find("seed")) {
            if (const auto* i = seed->get<std::int64_t>(); i && *i >= 0)
                graph_.set_seed(static_cast<std::uint64_t>(*i));
            else graph_.set_seed(json_get<std::uint64_t>(*seed, "a number from 0", "\"seed\""));
        }
    }

    void list_nodes() {
        const json_value* nodes = root_.find("nodes");
        if (!nodes) json_mistake("it has no \"nodes\"");
        for (const json_value& v : json_get<json_value::list>(*nodes, "a list", "\"nodes\"")) {
            const std::string place = "node " + std::to_string(entries_.size());
            (void)json_get<json_value::object>(v, "an object", place);
            entry e{.source = &v};
            const auto text = [&](const char* member, std::string& to) {
                const json_value* found = v.find(member);
                if (!found) json_mistake(place + " has no \"" + member + "\"");
                to = json_get<std::string>(*found, "a text", "\"" + std::string(member) + "\" of " + place);
                if (to.empty()) json_mistake("\"" + std::string(member) + "\" of " + place + " is empty");
            };
            text("name", e.name);
            text("op", e.op);
            allow_only(v,
                       {"name", "op", "inputs", "controls", "attributes", "colocated", "follows", "device", "container",
                        "outputs"},
                       "node \"" + e.name + "\"");
            if (!by_name_.emplace(e.name, entries_.size()).second)
                json_mistake("there are two nodes called \"" + e.name + "\"");
            entries_.push_back(std::move(e));
        }
    }

    // "name" or "name:1".
    std::pair<std::size_t, int> resolve(const json_value& v, const std::string& who) const {
        const std::string& text = json_get<std::string>(v, "a text", who);
        std::string name = text;
        int index = 0;
        const std::size_t colon = text.rfind(':');
        if (colon != std::string::npos && colon + 1 < text.size() && text.size() - colon <= 6 &&
            text.find_first_not_of("0123456789", colon + 1) == std::string::npos) {
            name = text.substr(0, colon);
            index = std::stoi(text.substr(colon + 1));
        }
        if (const auto at = by_name_.find(name); at != by_name_.end()) return {at->second, index};
        std::string similar;
        int shown = 0;
        for (const entry& e : entries_)
            if (shown < 4 && e.name.size() < 64 && name.size() < 64 && edit_distance(e.name, name) <= 2) {
                similar += (shown++ ? ", " : "; similar names: ") + e.name;
            }
        json_mistake(who + " is \"" + text + "\", but no node has this name" + similar);
    }

    void find_edges() {
        const auto each = [](const entry& e, const char* member, const auto& f) {
            if (const json_value* list = e.source->find(member))
                for (const json_value& v : json_get<json_value::list>(
                         *list, "a list", "\"" + std::string(member) + "\" of node \"" + e.name + "\""))
                    f(v);
        };
        for (entry& e : entries_) {
            each(e, "inputs", [&](const json_value& v) {
                e.inputs.push_back(
                    resolve(v, "input " + std::to_string(e.inputs.size()) + " of node \"" + e.name + "\""));
            });
            each(e, "controls", [&](const json_value& v) {
                e.controls.push_back(resolve(v, "a control input of node \"" + e.name + "\"").first);
            });
            each(e, "colocated", [&](const json_value& v) {
                e.colocated.push_back(resolve(v, "a node colocated with \"" + e.name + "\"").first);
            });
            if (const json_value* v = e.source->find("follows"))
                e.follows.push_back(resolve(*v, "the node that \"" + e.name + "\" follows").first);
        }
    }

    // Entries in the text's order, except where that would put one before its inputs.
    std::vector<std::size_t> order() const {
        std::vector<std::size_t> waiting(entries_.size());
        std::vector<std::vector<std::size_t>> after(entries_.size());
        for (std::size_t n = 0; n < entries_.size(); ++n) {
            for (const auto& [from, index] : entries_[n].inputs) after[from].push_back(n), ++waiting[n];
            for (const std::size_t from : entries_[n].controls) after[from].push_back(n), ++waiting[n];
            for (const std::size_t from : entries_[n].colocated) after[from].push_back(n), ++waiting[n];
            for (const std::size_t from : entries_[n].follows) after[from].push_back(n), ++waiting[n];
        }
        std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
        for (std::size_t n = 0; n < entries_.size(); ++n)
            if (waiting[n] == 0) ready.push(n);
        std::vector<std::size_t> result;
        while (!ready.empty()) {
            const std::size_t n = ready.top();
            ready.pop();
            result.push_back(n);
            for (const std::size_t next : after[n])
                if (--waiting[next] == 0) ready.push(next);
        }
        if (result.size() < entries_.size()) name_cycle(waiting);
        return result;
    }

    [[noreturn]] void name_cycle(const std::vector<std::size_t>& waiting) const {
        // From any entry that waits, backwards along what it waits for: the walk must come back to where it was.
        std::size_t n = 0;
        while (waiting[n] == 0) ++n;
        std::vector<std::size_t> path, seen_at(entries_.size(), SIZE_MAX);
        while (seen_at[n] == SIZE_MAX) {
            seen_at[n] = path.size();
            path.push_back(n);
            std::size_t next = SIZE_MAX;
            for (const auto& [from, index] : entries_[n].inputs)
                if (waiting[from] > 0) next = from;
            for (const std::size_t from : entries_[n].controls)
                if (waiting[from] > 0) next = from;
            for (const std::size_t from : entries_[n].colocated)
                if (waiting[from] > 0) next = from;
            for (const std::size_t from : entries_[n].follows)
                if (waiting[from] > 0) next = from;
            n = next;
        }
        std::string cycle = "\"" + entries_[n].name + "\"";
        constexpr std::size_t shown = 12;
        for (std::size_t at = path.size(), k = 0; at-- > seen_at[n]; ++k) {
            if (k == shown) cycle += " -> ...";
            if (k < shown || at == seen_at[n]) cycle += " -> \"" + entries_[path[at]].name + "\"";
        }
        throw invalid_argument_error("graph JSON: there is a cycle: " + cycle);
    }

    void add(std::size_t number) {
        entry& e = entries_[number];
        const auto place = [&] { return "graph JSON: node \"" + e.name + "\" (" + e.op + "): "; };
        try {
            node n{.op = &require_op(e.op), .name = e.name};
            for (const auto& [from, index] : e.inputs) {
                node* source = entries_[from].made;
                if (index >= static_cast<int>(source->outputs.size()))
                    json_mistake("it takes output " + std::to_string(index) + " of \"" + source->name +
                                 "\", which has " + std::to_string(source->outputs.size()));
                n.inputs.push_back({source, index});
            }
            for (const std::size_t from : e.controls) n.controls.push_back(entries_[from].made);
            for (const std::size_t from : e.colocated) n.colocated.push_back(entries_[from].made);
            for (const std::size_t from : e.follows) n.follows = entries_[from].made;
            if (const json_value* v = e.source->find("device"))
                n.device = json_get<std::string>(*v, "a text", "\"device\"");
            if (const json_value* v = e.source->find("container"))
                n.container = json_get<std::string>(*v, "a text", "\"container\"");
            read_attributes(e, n);
            e.made = restore_node(graph_, std::move(n));
            compare_outputs(e);
        } catch (const data_loss_error& x) {
            throw data_loss_error(place() + x.what());
        } catch (const invalid_argument_error& x) {
            throw invalid_argument_error(place() + x.what());
        }
    }

    void read_attributes(const entry& e, node& n) const {
        attributes given;
        const json_value* all = e.source->find("attributes");
        if (all)
            for (const json_member& m : json_get<json_value::object>(*all, "an object", "\"attributes\"")) {
                const auto words = [&](const std::exception& x) { return "attribute \"" + m.name + "\": " + x.what(); };
                try {
                    given.set(m.name.c_str(), attribute_of_json(m.value));
                } catch (const data_loss_error& x) {
                    throw data_loss_error(words(x));
                } catch (const invalid_argument_error& x) {
                    throw invalid_argument_error(words(x));
                }
            }
        n.attributes = std::move(given);
        if (n.op->of_before) n.op->of_before(graph_, n);
        n.attributes = checked_attributes(*n.op, n.attributes);
    }

    static void compare_outputs(const entry& e) {
        const json_value* stated = e.source->find("outputs");
        if (!stated) return;
        const auto& list = json_get<json_value::list>(*stated, "a list", "\"outputs\"");
        // A text may be older than variables' second output.
        const bool older = e.made->op->is(op_flags::variable) && list.size() == 1;
        if (list.size() != e.made->outputs.size() && !older)
            json_mistake("the text states " + std::to_string(list.size()) + " outputs, the op's rule gives " +
                         std::to_string(e.made->outputs.size()));
        for (std::size_t o = 0; o < list.size(); ++o) {
            const tensor_type t = type_of_json(list[o]);
            if (!(t == e.made->outputs[o]))
                json_mistake("the text states that output " + std::to_string(o) + " is " + to_string(t) +
                             ", the op's rule gives " + to_string(e.made->outputs[o]));
        }
    }

    void read_collections() {
        const json_value* all = root_.find("collections");
        if (!all) return;
        for (const auto& [name, members] : json_get<json_value::object>(*all, "an object", "\"collections\""))
            for (const json_value& v : json_get<json_value::list>(members, "a list", "collection \"" + name + "\"")) {
                const auto [from, index] = resolve(v, "a member of collection \"" + name + "\"");
                node* n = entries_[from].made;
                if (index > 0 && index >= static_cast<int>(n->outputs.size()))
                    json_mistake("collection \"" + name + "\" has output " + std::to_string(index) + " of \"" +
                                 n->name + "\", which has " + std::to_string(n->outputs.size()));
                graph_.add_to_collection(name, any_tensor({n, index}));
            }
    }

    json_value root_;
    graph graph_;
    std::vector<entry> entries_;
    std::unordered_map<std::string, std::size_t> by_name_;
};

} // namespace detail

TENON_INLINE graph graph_from_json(const std::string& text) { return detail::graph_reader(text).read(); }

} // namespace tenon
