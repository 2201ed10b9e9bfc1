#pragma once

#include <algorithm>
#include <cstdio>
#include <set>
#include <unordered_map>

#include <tenon/runtime/place/cost_model.hpp>
#include <tenon/runtime/place/cost_placer.hpp>

namespace tenon::runtime {

namespace detail {

inline std::size_t variable_bytes(const node& n) {
    if (!n.op->is(op_flags::variable) || n.outputs[0].element == element_type::string ||
        !n.outputs[0].extents.is_static())
        return 0;
    return static_cast<std::size_t>(bytes_of(n.outputs[0]));
}

// The best placement that was found, and how much more may be judged.
class placement_search {
public:
    placement_search(const cost_model& m, const std::vector<placement_group>& groups) : m_(m), allowed_(groups.size()) {
        constexpr std::size_t most_visits = 1'000'000, least = 16;
        left_ = std::max(most_visits / (m.visits() + 1), least);
        for (const placement_group& g : groups) best_.push_back(g.device);
        step_ = m_.judge(best_);
        const bool fits = step_.excess == 0;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const int by_rules = groups[g].device;
            allowed_[g].push_back(by_rules);
            if (groups[g].fixed || !m_.works(g)) continue;
            for (const int d : groups[g].candidates)
                if (d != by_rules && (!fits || m_.same_kind(d, by_rules) || m_.was_timed(g, d)))
                    allowed_[g].push_back(d);
            if (allowed_[g].size() > 1) movable_.push_back(g);
        }
    }

    const std::vector<int>& run() {
        if (movable_.empty()) return best_;
        const std::vector<int> by_rules = best_;
        std::vector<int> open = by_rules;
        for (const std::size_t g : movable_) open[g] = -1;
        std::vector<int> greedy = open;
        judge(greedy);
        for (const std::size_t g : movable_)
            if (m_.variables(g) > 0) open[g] = nearest(g, greedy);
        judge(open);
        std::set<int> devices;
        for (const std::size_t g : movable_) devices.insert(allowed_[g].begin(), allowed_[g].end());
        constexpr std::size_t most_alone = 8;
        std::size_t alone = 0;
        for (const int d : devices) {
            if (++alone > most_alone) break;
            std::vector<int> all = by_rules;
            for (const std::size_t g : movable_)
                if (std::find(allowed_[g].begin(), allowed_[g].end(), d) != allowed_[g].end()) all[g] = d;
            judge(all);
        }
        for (const int d : devices) {
            std::vector<int> alike; // of each kind once
            for (const int other : devices)
                if (m_.same_kind(d, other)) alike.push_back(other);
            if (alike.size() > 1 && alike.front() == d) cut(by_rules, alike);
        }
        while (left_ > 0 && improve()) {
        }
        return best_;
    }

private:
    struct move {
        double bytes;
        std::size_t group;
        int to;
    };

    bool judge(std::vector<int>& device_of) {
        if (left_ == 0) return false;
        --left_;
        predicted_step step = m_.judge(device_of, allowed_);
        if (!step.better_than(step_)) return false;
        step_ = std::move(step);
        best_ = device_of;
        return true;
    }

    // What a person does with a network that is too large for one device: the step's groups, in their order, in as many
    // stretches as there are devices, of as few as suffice, cut where few bytes cross.
    void cut(const std::vector<int>& by_rules, const std::vector<int>& devices) {
        constexpr std::size_t most_places = 24, rounds = 2;
        const std::vector<std::size_t> order = m_.in_order(movable_);
        const std::vector<double> crossing = m_.cut_bytes(order);
        std::vector<double> before{0}; // bytes, by place
        for (const std::size_t g : order) before.push_back(before.back() + m_.own_bytes(g));
        std::size_t spare = left_ / 2; // the rest is for improving
        for (std::size_t count = 2; count <= devices.size() && count <= order.size(); ++count) {
            std::vector<std::size_t> ends; // of stretches, but the last
            for (std::size_t c = 1; c < count; ++c) {
                const double share = before.back() * static_cast<double>(c) / static_cast<double>(count);
                const auto at = std::lower_bound(before.begin(), before.end(), share) - before.begin();
                const std::size_t least = ends.empty() ? 1 : ends.back() + 1;
                ends.push_back(std::clamp(static_cast<std::size_t>(at), least, order.size() - (count - c)));
            }
            predicted_step best;
            bool any = false;
            const auto try_out = [&] {
                if (spare == 0) return false;
                --spare;
                --left_;
                std::vector<int> trial = by_rules;
                std::size_t stretch = 0;
                for (std::size_t at = 0; at < order.size(); ++at) {
                    while (stretch < ends.size() && at >= ends[stretch]) ++stretch;
                    const std::vector<int>& allowed = allowed_[order[at]];
                    if (std::find(allowed.begin(), allowed.end(), devices[stretch]) != allowed.end())
                        trial[order[at]] = devices[stretch];
                }
                predicted_step step = m_.judge(trial, allowed_);
                if (step.better_than(step_)) {
                    step_ = step;
                    best_ = std::move(trial);
                }
                if (any && !step.better_than(best)) return false;
                any = true;
                best = std::move(step);
                return true;
            };
            try_out();
            for (std::size_t round = 0; round < rounds; ++round)
                for (std::size_t c = 0; c < ends.size(); ++c) {
                    const std::size_t from = c == 0 ? 1 : ends[c - 1] + 1,
                                      to = c + 1 == ends.size() ? order.size() - 1 : ends[c + 1] - 1;
                    std::vector<std::size_t> places;
                    for (std::size_t at = from; at <= to; ++at) places.push_back(at);
                    const auto distance = [&, now = ends[c]](std::size_t at) { return at < now ? now - at : at - now; };
                    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
                        return crossing[a] != crossing[b] ? crossing[a] < crossing[b] : distance(a) < distance(b);
                    });
                    if (places.size() > most_places) places.resize(most_places);
                    std::size_t kept = ends[c];
                    for (const std::size_t at : places) {
                        ends[c] = at;
                        if (try_out()) kept = at;
                    }
                    ends[c] = kept;
                }
            if (any && best.excess == 0) return;
        }
    }

    // Where most of what it reads and is read by is.
    int nearest(std::size_t g, const std::vector<int>& device_of) const {
        const std::vector<double> bytes = m_.shared_bytes(g, device_of);
        int best = device_of[g];
        for (const int d : allowed_[g])
            if (bytes[static_cast<std::size_t>(d)] > bytes[static_cast<std::size_t>(best)]) best = d;
        return best;
    }

    bool improve() {
        std::vector<move> moves;
        for (const std::size_t g : movable_) {
            const int now = best_[g];
            const std::vector<double> bytes = m_.shared_bytes(g, best_);
            const bool too_full =
                step_.excess > 0 && m_.limit(now) > 0 && step_.memory[static_cast<std::size_t>(now)] > m_.limit(now);
            for (const int d : allowed_[g]) {
                if (d == now) continue;
                const double worth =
                    bytes[static_cast<std::size_t>(d)] + (too_full ? static_cast<double>(m_.variables(g)) : 0);
                if (worth > 0) moves.push_back({worth, g, d});
            }
        }
        std::stable_sort(moves.begin(), moves.end(), [](const move& a, const move& b) { return a.bytes > b.bytes; });
        bool improved = false;
        std::vector<int> trial = best_;
        for (const move& m : moves) {
            if (left_ == 0) break;
            const int before = trial[m.group];
            if (before == m.to) continue;
            trial[m.group] = m.to;
            if (judge(trial)) improved = true;
            else trial[m.group] = before;
        }
        return improved;
    }

    const cost_model& m_;
    std::vector<std::vector<int>> allowed_; // by group, the rules' device first
    std::vector<std::size_t> movable_;
    std::vector<int> best_;
    predicted_step step_;
    std::size_t left_ = 0;
};

inline std::string shown_seconds(double s) {
    constexpr const char* units[] = {"s", "ms", "us"};
    std::size_t unit = 0;
    while (s < 1 && unit + 1 < std::size(units)) {
        s *= 1000;
        ++unit;
    }
    char text[40];
    std::snprintf(text, sizeof text, "%.4g %s", s, units[unit]);
    return text;
}

} // namespace detail

TENON_INLINE void cost_placer::choose(const program& p, const plan_options& o, std::vector<placement_group>& groups) {
    if (o.described.size() < 2) return;
    std::unordered_map<const node*, int> group_of_node;
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (const node* n : groups[g].members) group_of_node.emplace(n, static_cast<int>(g));
    std::vector<int> group_of(p.items.size(), -1);
    for (std::size_t i = 0; i < p.items.size(); ++i)
        if (!p.items[i].removed) group_of[i] = group_of_node.at(p.items[i].origin);
    detail::cost_model m(p, o, *measured_, std::move(group_of), groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (groups[g].earlier) continue;
        std::size_t bytes = 0;
        for (const node* n : groups[g].members) bytes += detail::variable_bytes(*n);
        m.set_variables(g, bytes);
    }
    detail::placement_search search(m, groups);
    const std::vector<int>& best = search.run();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (best[g] == groups[g].device) continue;
        groups[g].device = best[g];
        groups[g].rule = placement_rule::cheapest;
    }
}

TENON_INLINE void cost_placer::explain(const program& p, const plan_options& o, const placer& by,
                                       placement_explanation& e) {
    std::vector<int> group_of(p.items.size()), chosen(p.items.size()), by_rules(p.items.size());
    for (std::size_t i = 0; i < p.items.size(); ++i) {
        group_of[i] = static_cast<int>(i);
        if (p.items[i].removed) continue;
        const placement_decision d = by.decision(p.items[i].origin);
        chosen[i] = d.device;
        by_rules[i] = d.by_rules;
    }
    detail::cost_model m(p, o, *measured_, std::move(group_of), p.items.size());
    std::set<const node*> variables;
    for (std::size_t i = 0; i < p.items.size(); ++i) {
        const node* v = p.items[i].removed ? nullptr : variable_of(p.items[i]);
        if (!v || !variables.insert(v).second) continue;
        m.set_variables(i, detail::variable_bytes(*v));
        m.take_variables(chosen[i], detail::variable_bytes(*v));
    }
    const detail::predicted_step now = m.judge(chosen), rules = m.judge(by_rules);
    const int timed = m.timed_nodes(chosen);
    e.predicted_seconds = now.seconds;
    e.predicted_by_rules = rules.seconds;
    std::string& text = e.cost;
    text = "cost model: " + detail::shown_seconds(now.seconds) + " a step, by the rules " +
           detail::shown_seconds(rules.seconds) + "; " + std::to_string(now.crossing) + " bytes cross, by the rules " +
           std::to_string(rules.crossing) + "; of " + std::to_string(m.nodes()) + " nodes " + std::to_string(timed) +
           " were timed, " + std::to_string(m.nodes() - timed) + " are estimated";
    const auto tell_excess = [&](const char* whose, std::size_t bytes) {
        if (bytes) text += std::string("; ") + whose + " exceeds the memory by " + std::to_string(bytes) + " bytes";
    };
    tell_excess("it", now.excess);
    tell_excess("the rules' placement", rules.excess);
    for (std::size_t d = 0; d < o.described.size(); ++d) {
        const std::size_t limit = m.limit(static_cast<int>(d));
        text += "\n  " + tenon::detail::short_name(o.described[d].attributes.name) + ": busy " +
                detail::shown_seconds(now.busy[d]) + ", " + std::to_string(now.memory[d]) +
                (limit ? " of " + std::to_string(limit) : std::string()) + " bytes; by the rules " +
                detail::shown_seconds(rules.busy[d]) + ", " + std::to_string(rules.memory[d]) + " bytes";
    }
}

} // namespace tenon::runtime
