#include "random_graphs/generator.hpp"

#include <algorithm>
#include <optional>

#include "own_graph.hpp"
#include "random_graphs/workshop.hpp"
#include "reference/order.hpp"
#include "reference/sizes.hpp"

namespace random_graphs {

namespace {

void add_node(workshop& w) {
    std::optional<tn::control_dependencies> first, second;
    std::optional<tn::device_scope> device;
    const auto waits_for = [&] {
        if (!w.updates.empty() && w.chance(0.6)) return w.one_of(w.updates).operation();
        if (!w.operations.empty() && w.chance(0.3)) return w.one_of(w.operations);
        return w.one_of(w.tensors).operation();
    };
    if (!w.tensors.empty() && w.chance(0.2)) first.emplace(waits_for());
    if (first && w.chance(0.2)) second.emplace(waits_for());
    if (w.with_devices && w.chance(0.3))
        device.emplace(tn::device_name(std::string_view(w.one_of({"/cpu:0", "/cpu:1", "/gpu:0", "/gpu:1", "/gpu:2"}))));
    try {
        w.one_of(families())(w);
    } catch (const tn::invalid_argument_error&) {
        // What does not fit is not made.
    } catch (const tn::unimplemented_error&) {
        // Nor the gradients of a loop's.
    }
}

tn::extents in_numbers(tn::extents e, const std::map<std::string, std::int64_t>& names) {
    for (int i = 0; i < e.rank(); ++i)
        if (!e[i].is_number()) e[i] = tn::extent(names.at(e[i].is_named() ? e[i].name : "dynamic"));
    return e;
}

std::vector<fed> feeds_of(workshop& w, const tn::graph& g, const step& s,
                          const std::map<std::string, std::int64_t>& names) {
    const auto sizes_of = [&](const tn::any_tensor& t) { return in_numbers(t.extents(), names); };
    std::vector<fed> feeds;
    const auto feed = [&](const tn::any_tensor& t, const tn::extents& sizes) {
        for (const fed& f : feeds)
            if (f.tensor == t.name()) return;
        feeds.push_back({t.name(), std::make_shared<const tn::any_array>(w.numbers(t.element(), sizes))});
    };
    for (const tn::any_tensor& p : w.placeholders)
        if (!w.chance(0.02)) feed(p, sizes_of(p));
    // Any tensor can be fed, in sizes that it might have.
    for (int n = w.chance(0.4) ? 1 + w.below(2) : 0; n > 0; --n) {
        const tn::any_tensor t = !w.updates.empty() && w.chance(0.3) ? w.one_of(w.updates) : w.one_of(w.tensors);
        step asked = s;
        asked.fetches = {t.name()};
        asked.targets.clear();
        asked.feeds = feeds;
        try {
            const reference::request r = request_of(g, asked);
            const reference::order o(r);
            feed(t, in_numbers(reference::sizes(r, o).of(t.output()).extents, names)); // what is open may be anything
        } catch (const tn::error&) {
            // In these feeds it has no sizes.
        }
    }
    return feeds;
}

step step_of(workshop& w, const tn::graph& g) {
    const std::map<std::string, std::int64_t> names{{"batch", w.chance(0.04) ? 0 : 1 + w.below(5)},
                                                    {"time", 1 + w.below(3)},
                                                    {"kept", w.below(4)},
                                                    {"dynamic", w.chance(0.04) ? 0 : 1 + w.below(4)}};
    step s;
    for (int n = w.below(6); n > 0; --n)
        s.fetches.push_back((w.chance(0.5) || w.updates.empty() ? w.one_of(w.tensors) : w.one_of(w.updates)).name());
    if (!s.fetches.empty() && w.chance(0.2)) s.fetches.push_back(s.fetches[0]);
    if (!w.variables.empty() && w.chance(0.3)) s.fetches.push_back(w.one_of(w.variables).name());
    for (int n = w.below(s.fetches.empty() ? 3 : 2) + s.fetches.empty(); n > 0; --n)
        s.targets.push_back(!w.operations.empty() && w.chance(0.3) ? w.one_of(w.operations).name()
                            : !w.updates.empty() && w.chance(0.7)  ? w.one_of(w.updates).node()->name
                                                                   : w.one_of(w.tensors).node()->name);
    // All updates of a variable together.
    if (!w.updates.empty() && w.chance(0.3)) {
        const tn::node* const variable = w.one_of(w.updates).node()->inputs[0].node;
        for (const tn::any_tensor& u : w.updates)
            if (u.node()->inputs[0].node == variable) (w.chance(0.5) ? s.fetches : s.targets).push_back(u.node()->name);
    }
    if (!w.together.empty() && w.chance(0.5))
        for (const tn::operation& o : w.one_of(w.together))
            if (w.chance(0.8)) s.targets.push_back(o.name());
    s.feeds = feeds_of(w, g, s, names);
    if (w.with_trips && w.chance(0.5)) s.cut = w.chance(0.6) ? step::cut_short::late : step::cut_short::stopped;
    return s;
}

} // namespace

generated generate(std::uint64_t seed) {
    workshop w(seed);
    const own_graph g;
    g.state();
    tn::graph(g).set_seed(1 + seed % 1000);
    w.with_devices = w.chance(0.4);
    w.with_pauses = w.chance(0.5);
    w.with_late_sizes = w.chance(0.5);
    w.with_trips = w.chance(0.3);
    // Something to begin with.
    for (int n = 0; n < 2; ++n) keep(w, w.constant(w.floating_element(), w.any_sizes()));
    for (int n = w.below(4); n > 0; --n) variable(w);
    const int nodes = w.one_of({4, 8, 12, 20, 30});
    for (int n = 0; n < nodes; ++n) add_node(w);

    generated made{{}, g};
    made.made.seed = seed;
    step first;
    for (const tn::any_tensor& v : w.variables)
        if (!w.chance(0.02)) first.targets.push_back(tn::detail::initializer_of(v).name());
    if (!first.targets.empty()) {
        for (const tn::any_tensor& p : w.placeholders) {
            tn::extents e = p.extents();
            for (int i = 0; i < e.rank(); ++i)
                if (!e[i].is_number()) e[i] = tn::extent(2);
            first.feeds.push_back({p.name(), std::make_shared<const tn::any_array>(w.numbers(p.element(), e))});
        }
        made.made.steps.push_back(std::move(first));
    }
    for (int n = 1 + w.below(3); n > 0; --n) {
        made.made.steps.push_back(step_of(w, g));
        if (w.chance(0.3)) made.made.steps.push_back(made.made.steps.back());
    }
    made.made.graph = nlohmann::json::parse(tn::to_json(g));
    // Of the collections those alone say what a step does.
    nlohmann::json& kept = made.made.graph["collections"];
    kept = kept.contains(tn::partitioned_variables)
               ? nlohmann::json{{tn::partitioned_variables, kept[tn::partitioned_variables]}}
               : nlohmann::json::object();
    return made;
}

} // namespace random_graphs
