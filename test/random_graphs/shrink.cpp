#include "random_graphs/shrink.hpp"

#include <algorithm>
#include <set>

#include <tenon/core/error.hpp>

using nlohmann::json;

namespace random_graphs {

namespace {

std::string node_of(const std::string& reference) { return reference.substr(0, reference.find(':')); }

class shrinker {
public:
    shrinker(program p, const std::function<bool(const program&)>& fails) : best_(std::move(p)), fails_(fails) {}

    program run() {
        for (bool smaller = true; smaller;) {
            smaller = false;
            smaller |= drop_from_list([](program & p) -> auto& { return p.steps; });
            for (std::size_t s = 0; s < best_.steps.size(); ++s) {
                smaller |= drop_from_list([s](program & p) -> auto& { return p.steps[s].fetches; });
                smaller |= drop_from_list([s](program & p) -> auto& { return p.steps[s].targets; });
                smaller |= drop_from_list([s](program & p) -> auto& { return p.steps[s].feeds; });
                smaller |= attempt([s](program& p) { p.steps[s].cut = step::cut_short::no; });
            }
            smaller |= attempt([](program& p) { drop_unused(p); });
            for (std::size_t n = best_.graph["nodes"].size(); n-- > 0;) {
                if (n >= best_.graph["nodes"].size()) continue;
                for (const char* what : {"controls", "device", "colocated", "container"})
                    if (best_.graph["nodes"][n].contains(what))
                        smaller |= attempt([&](program& p) { p.graph["nodes"][n].erase(what); });
                smaller |= drop_one_control(n);
                smaller |= replace(n) || drop_unread(n);
            }
        }
        return std::move(best_);
    }

private:
    template <class Change> bool attempt(const Change& change) {
        program next = best_;
        change(next);
        if (weight(next) >= weight(best_)) return false;
        try {
            if (!fails_(next)) return false;
        } catch (const tenon::error&) {
            return false;
        } catch (const json::exception&) {
            return false;
        }
        best_ = std::move(next);
        return true;
    }

    // What must fall with each change, so that shrinking ends.
    static std::size_t weight(const program& p) {
        std::size_t sum = 0;
        for (const step& s : p.steps)
            sum +=
                4 + 2 * s.fetches.size() + 2 * s.targets.size() + 2 * s.feeds.size() + (s.cut != step::cut_short::no);
        for (const json& n : p.graph.at("nodes")) {
            sum += 10 + 2 * n.value("inputs", json::array()).size() + 2 * n.value("controls", json::array()).size();
            sum += n.contains("device") + n.contains("container") + n.value("colocated", json::array()).size();
            sum += n.at("op") != "constant";
        }
        return sum;
    }

    template <class List> bool drop_from_list(const List& list) {
        bool any = false;
        for (std::size_t i = list(best_).size(); i-- > 0;)
            any |= attempt([&](program& p) { list(p).erase(list(p).begin() + static_cast<std::ptrdiff_t>(i)); });
        return any;
    }

    bool drop_one_control(std::size_t n) {
        bool any = false;
        const json controls = best_.graph["nodes"][n].value("controls", json::array());
        for (std::size_t c = controls.size(); c-- > 0;)
            any |= attempt([&](program& p) { p.graph["nodes"][n]["controls"].erase(c); });
        return any;
    }

    // What joins the parts of a variable is entered; it may be there no more, or be another node by now.
    static void drop_from_collections(program& p) {
        for (json& list : p.graph["collections"]) {
            json kept = json::array();
            for (const json& name : list)
                for (const json& n : p.graph["nodes"])
                    if (n.at("name") == name && n.at("op") == "concat") kept.push_back(name);
            list = std::move(kept);
        }
    }

    // Nodes that no step needs.
    static void drop_unused(program& p) {
        std::set<std::string> used;
        for (const step& s : p.steps) {
            for (const std::string& f : s.fetches) used.insert(node_of(f));
            for (const std::string& t : s.targets) used.insert(node_of(t));
            for (const fed& f : s.feeds) used.insert(node_of(f.tensor));
        }
        json& nodes = p.graph["nodes"];
        for (std::size_t before = 0; before != used.size();) {
            before = used.size();
            for (const json& n : nodes)
                if (used.contains(n.at("name")))
                    for (const char* list : {"inputs", "controls", "colocated"})
                        for (const json& i : n.value(list, json::array())) used.insert(node_of(i));
        }
        json kept = json::array();
        for (const json& n : nodes)
            if (used.contains(n.at("name"))) kept.push_back(n);
        nodes = std::move(kept);
        drop_from_collections(p);
    }

    // A node that nobody refers to.
    bool drop_unread(std::size_t n) {
        if (n >= best_.graph["nodes"].size()) return false;
        const std::string name = best_.graph["nodes"][n]["name"];
        for (const json& other : best_.graph["nodes"])
            for (const char* list : {"inputs", "controls", "colocated"})
                for (const json& i : other.value(list, json::array()))
                    if (node_of(i) == name) return false;
        return attempt([&](program& p) {
            p.graph["nodes"].erase(n);
            drop_from_collections(p);
        });
    }

    // Its readers read an input of the same type instead; or it becomes a constant.
    bool replace(std::size_t n) {
        const json node = best_.graph["nodes"][n];
        if (!node.contains("outputs") || node["outputs"].size() != 1) return false;
        const std::string name = node.at("name");
        for (const json& input : node.value("inputs", json::array())) {
            if (type_of(input) != node["outputs"][0]) continue;
            const bool done = attempt([&](program& p) {
                const auto redirect = [&](std::string& r) {
                    if (node_of(r) == name) r = input.get<std::string>();
                };
                for (json& other : p.graph["nodes"])
                    for (const char* list : {"inputs", "controls"})
                        if (other.contains(list) && other["name"] != name)
                            for (json& i : other[list]) {
                                std::string r = i;
                                redirect(r);
                                i = r;
                            }
                for (step& s : p.steps) {
                    for (std::string& f : s.fetches) redirect(f);
                    for (std::string& t : s.targets)
                        if (t == name) t = node_of(input);
                }
                drop_unused(p);
            });
            if (done) return true;
        }
        const std::string op = node.at("op");
        if (op == "constant" || op == "variable" || op == "placeholder") return false;
        return attempt([&](program& p) {
            const json type = node["outputs"][0];
            std::size_t elements = 1;
            for (const json& size : type.at("shape")) {
                if (!size.is_number()) return; // known in a step only
                elements *= size.get<std::size_t>();
            }
            const std::string e = type.at("element");
            const json one = e == "string" ? json("text") : e == "bool" ? json(true) : json(1);
            json array = type;
            array["values"] = json(elements, one);
            json made{{"name", name},
                      {"op", "constant"},
                      {"attributes", {{"value", {{"array", array}}}}},
                      {"outputs", {type}}};
            for (const char* kept : {"controls", "device"})
                if (node.contains(kept)) made[kept] = node[kept];
            p.graph["nodes"][n] = std::move(made);
            drop_unused(p);
        });
    }

    json type_of(const std::string& reference) const {
        for (const json& n : best_.graph["nodes"]) {
            if (n.at("name") != node_of(reference)) continue;
            const std::size_t colon = reference.find(':');
            return n.at("outputs").at(colon == std::string::npos ? 0 : std::stoul(reference.substr(colon + 1)));
        }
        return {};
    }

    program best_;
    const std::function<bool(const program&)>& fails_;
};

} // namespace

program shrink(program p, const std::function<bool(const program&)>& fails) {
    return shrinker(std::move(p), fails).run();
}

} // namespace random_graphs
