#pragma once

#include <algorithm>
#include <map>

#include <tenon/io/json/json_value.hpp>
#include <tenon/runtime/place/explanation.hpp>

namespace tenon {

TENON_INLINE const char* name_of(placement_rule r) noexcept {
    switch (r) {
    case placement_rule::requested: return "requested";
    case placement_rule::with_data: return "with its data";
    case placement_rule::colocated: return "colocated";
    case placement_rule::gpu_default: return "default GPU";
    case placement_rule::cpu_default: return "default CPU";
    case placement_rule::softened: return "soft placement";
    case placement_rule::cheapest: return "cheapest";
    }
    return "";
}

TENON_INLINE std::int64_t placement_explanation::crossing_bytes() const {
    return tenon::crossing_bytes(crossings) - fetched_bytes();
}

TENON_INLINE std::int64_t placement_explanation::fetched_bytes() const {
    std::int64_t sum = 0;
    for (const tenon::crossing& c : crossings) sum += c.fetched ? c.bytes : 0;
    return sum;
}

TENON_INLINE bytes_known placement_explanation::crossing_known() const {
    bytes_known least = bytes_known::exactly;
    for (const tenon::crossing& c : crossings) least = std::max(least, c.known);
    return least;
}

TENON_INLINE std::string placement_explanation::to_text() const {
    std::string text;
    std::map<std::string, const node*> by_name;
    for (const node& n : nodes) {
        by_name[n.name] = &n;
        text += n.name + " (" + n.op + "): " + to_string(n.device) + ", " + name_of(n.rule);
        if (!n.requested.empty()) text += ", asked for " + to_string(n.requested);
        if (n.group != n.name) text += ", group of " + n.group;
        text += '\n';
    }
    const auto device_of = [&](const std::string& name) {
        const auto at = by_name.find(name);
        return at == by_name.end() ? std::string("the host") : to_string(at->second->device);
    };
    for (const edge& e : edges) {
        if (e.bytes == 0 && e.known == bytes_known::exactly) continue;
        // Constants are the host's until a step is planned, whatever device they are for.
        text += e.tensor + " " + to_string(e.type) + " crosses from " +
                (e.once ? std::string("the host") : device_of(e.from)) + " to " + device_of(e.to) +
                (e.to.empty() ? ", fetched" : " for " + e.to) + ": " + detail::shown_bytes(e.bytes, e.known, " bytes") +
                (e.once     ? ", when the step is planned"
                 : e.shared ? ", with what crosses for another reader there"
                            : "") +
                '\n';
    }
    const bytes_known known = crossing_known();
    text +=
        "in each step " +
        (known == bytes_known::not_yet ? std::to_string(crossing_bytes()) + " bytes cross, and what only the step tells"
         : known == bytes_known::last_step
             ? std::to_string(crossing_bytes()) + " bytes cross, where sizes are those of the last step"
             : detail::shown_bytes(crossing_bytes(), known, " bytes") + " cross") +
        (fetched_bytes() > 0 ? ", and " + std::to_string(fetched_bytes()) + " are fetched\n" : "\n");
    return cost.empty() ? text : text + cost + '\n';
}

TENON_INLINE std::string placement_explanation::to_json() const {
    using object = detail::json_value::object;
    detail::json_value::list of_nodes, of_edges, of_crossings;
    for (const node& n : nodes)
        of_nodes.push_back(object{{"name", n.name},
                                  {"op", n.op},
                                  {"requested", to_string(n.requested)},
                                  {"device", to_string(n.device)},
                                  {"rule", name_of(n.rule)},
                                  {"group", n.group}});
    for (const edge& e : edges)
        of_edges.push_back(object{{"tensor", e.tensor},
                                  {"type", to_string(e.type)},
                                  {"from", e.from},
                                  {"to", e.to},
                                  {"bytes", e.bytes},
                                  {"bytes_known", name_of(e.known)},
                                  {"once", e.once},
                                  {"shared", e.shared}});
    for (const tenon::crossing& c : crossings)
        of_crossings.push_back(object{{"tensor", c.tensor},
                                      {"from", c.from},
                                      {"to", c.to},
                                      {"bytes", c.bytes},
                                      {"bytes_known", name_of(c.known)},
                                      {"fetched", c.fetched}});
    object all{{"nodes", std::move(of_nodes)},         {"edges", std::move(of_edges)},
               {"crossings", std::move(of_crossings)}, {"crossing_bytes", crossing_bytes()},
               {"fetched_bytes", fetched_bytes()},     {"crossing_known", name_of(crossing_known())}};
    if (!cost.empty()) {
        all.push_back({"cost", cost});
        all.push_back({"predicted_seconds", predicted_seconds});
        all.push_back({"predicted_by_rules", predicted_by_rules});
    }
    return detail::json_text(std::move(all), 1);
}

TENON_INLINE std::string placement_explanation::to_dot() const {
    constexpr const char* colours[] = {"#cfe2f3", "#d9ead3", "#fff2cc", "#f4cccc", "#d9d2e9", "#fce5cd", "#d0e0e3"};
    const auto quoted = [](const std::string& s) {
        std::string text = "\"";
        for (const char c : s) {
            if (c == '"' || c == '\\') text += '\\';
            text += c;
        }
        return text + "\"";
    };
    std::map<std::string, std::size_t> devices; // in the order of their names
    for (const node& n : nodes) devices.emplace(to_string(n.device), 0);
    std::string text = "digraph placement {\n  node [shape=box, style=filled];\n";
    std::size_t number = 0;
    for (auto& [name, place] : devices) {
        place = number++;
        const char* colour = colours[place % std::size(colours)];
        text += "  subgraph " + quoted("cluster_" + name) + " {\n    label=" + quoted(name) +
                "; color=" + quoted(colour) + ";\n";
        for (const node& n : nodes)
            if (to_string(n.device) == name)
                text += "    " + quoted(n.name) + " [fillcolor=" + quoted(colour) +
                        ", label=" + quoted(n.name + " (" + n.op + ")") + "];\n";
        text += "  }\n";
    }
    for (const edge& e : edges) {
        if (e.to.empty()) continue;
        text += "  " + quoted(e.from) + " -> " + quoted(e.to);
        if (e.bytes > 0 || e.known != bytes_known::exactly)
            text += " [color=red, label=" + quoted(detail::shown_bytes(e.bytes, e.known, " B")) + "]";
        text += ";\n";
    }
    return text + "}\n";
}

} // namespace tenon
