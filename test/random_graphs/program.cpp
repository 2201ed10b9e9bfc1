#include "random_graphs/program.hpp"

#include <cmath>
#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/graph/json.hpp>

namespace tn = tenon;
using nlohmann::json;

namespace random_graphs {

namespace {

json json_of(const tn::any_array& a) {
    json sizes = json::array(), values = json::array();
    for (const tn::extent& e : a.extents()) sizes.push_back(e.size);
    tn::detail::with_element(a.element(), [&]<class T>(const T&) {
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            if constexpr (std::is_same_v<T, std::string> || std::is_integral_v<T>) values.push_back(a.data<T>()[i]);
            else {
                const auto x = static_cast<double>(a.data<T>()[i]);
                if (std::isfinite(x)) values.push_back(x);
                else values.push_back(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
            }
        }
    });
    return {{"element", tn::name_of(a.element())}, {"shape", sizes}, {"values", values}};
}

tn::element_type element_called(const std::string& name) {
    for (int e = 1; e <= static_cast<int>(tn::element_type::string); ++e)
        if (name == tn::name_of(static_cast<tn::element_type>(e))) return static_cast<tn::element_type>(e);
    throw tn::invalid_argument_error("no element type is called " + name);
}

reference::shared_array array_of(const json& j) {
    tn::extents sizes;
    for (const json& s : j.at("shape")) sizes.push_back(tn::extent(s.get<std::int64_t>()));
    auto a = std::make_shared<tn::any_array>(element_called(j.at("element")), sizes);
    tn::detail::with_element(a->element(), [&]<class T>(const T&) {
        for (std::int64_t i = 0; i < a->elements(); ++i) {
            const json& v = j.at("values").at(static_cast<std::size_t>(i));
            if constexpr (std::is_same_v<T, std::string> || std::is_integral_v<T>) a->data<T>()[i] = v.get<T>();
            else {
                constexpr double infinity = std::numeric_limits<double>::infinity();
                a->data<T>()[i] = static_cast<T>(!v.is_string() ? v.get<double>()
                                                 : v == "inf"   ? infinity
                                                 : v == "-inf"  ? -infinity
                                                                : std::numeric_limits<double>::quiet_NaN());
            }
        }
    });
    return a;
}

} // namespace

tn::graph graph_of(const program& p) { return tn::graph_from_json(p.graph.dump()); }

reference::request request_of(const tn::graph& g, const step& s) {
    reference::request r;
    for (const fed& f : s.feeds) r.feeds.push_back({g.tensor(f.tensor), f.value->share()});
    for (const std::string& f : s.fetches) r.fetches.push_back(g.tensor(f));
    for (const std::string& t : s.targets) r.targets.emplace_back(g.find(t));
    return r;
}

std::string to_json(const program& p) {
    json steps = json::array();
    for (const step& s : p.steps) {
        json feeds = json::array();
        for (const fed& f : s.feeds) feeds.push_back({{"tensor", f.tensor}, {"value", json_of(*f.value)}});
        json& made = steps.emplace_back(json{{"feeds", feeds}, {"fetches", s.fetches}, {"targets", s.targets}});
        if (s.cut == step::cut_short::no) continue;
        made["cut"] = s.cut == step::cut_short::late ? "late" : "stopped";
        made["cuts"] = s.cuts;
    }
    std::string text = "{\"seed\": " + std::to_string(p.seed) + ", \"session\": " + json(p.session).dump() +
                       ",\n \"graph\": {\"format\": \"tenon graph\", \"version\": " + p.graph.at("version").dump() +
                       ", \"seed\": " + p.graph.at("seed").dump() + ", \"nodes\": [";
    bool first = true;
    for (const json& n : p.graph.at("nodes")) {
        text += (first ? "\n  " : ",\n  ") + n.dump();
        first = false;
    }
    text += "],\n  \"collections\": " + p.graph.at("collections").dump() + "},\n \"steps\": [";
    first = true;
    for (const json& s : steps) {
        text += (first ? "\n  " : ",\n  ") + s.dump();
        first = false;
    }
    return text + "]}\n";
}

program program_from_json(const std::string& text) {
    const json j = json::parse(text);
    program p{.seed = j.at("seed"), .graph = j.at("graph"), .session = j.at("session")};
    for (const json& s : j.at("steps")) {
        step made;
        for (const json& f : s.at("feeds")) made.feeds.push_back({f.at("tensor"), array_of(f.at("value"))});
        made.fetches = s.at("fetches").get<std::vector<std::string>>();
        made.targets = s.at("targets").get<std::vector<std::string>>();
        if (s.contains("cut")) {
            made.cut = s.at("cut") == "late" ? step::cut_short::late : step::cut_short::stopped;
            made.cuts = s.at("cuts");
        }
        p.steps.push_back(std::move(made));
    }
    return p;
}

} // namespace random_graphs
