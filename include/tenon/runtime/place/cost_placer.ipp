#pragma once

#include <algorithm>
#include <cstdio>
#include <set>
#include <unordered_map>

#include <tenon/runtime/place/cost_placer.hpp>
#include <tenon/runtime/plan/layout.hpp>
#include <tenon/runtime/plan/rewrite.hpp>

namespace tenon::runtime {

namespace detail {

TENON_INLINE cost_model::cost_model(const program& p, const plan_options& o, const cost_measurements& m,
                                    std::vector<int> group_of, std::size_t groups) :
    values_(p.values.size()), items_of_(groups), readers_(p.values.size()), variables_(groups) {
    for (tenon::device* d : o.devices) {
        const std::string kind = timed_on(d->attributes());
        const auto at = std::find(kinds_.begin(), kinds_.end(), kind);
        kind_.push_back(static_cast<int>(at - kinds_.begin()));
        if (at == kinds_.end()) kinds_.push_back(kind);
        there_.push_back(d->resources().bytes());
        limits_.push_back(d->memory().limit);
    }
    take_links(o, m);
    take_items(p, o, group_of);
    take_times(p, m);
}

// Lines: one for what each device computes, then two for its copies, in and out. Devices without streams are the
// machine's own threads: they share the first's.
TENON_INLINE void cost_model::take_links(const plan_options& o, const cost_measurements& m) {
    constexpr link_speed unknown{.latency = 1e-5, .bandwidth = 1e10};
    const int devices = static_cast<int>(o.devices.size());
    for (int from = 0; from < devices; ++from) {
        worker_.push_back(o.device(from).streams() ? from : 0);
        for (int to = 0; to < devices; ++to) {
            const auto kind = [&](int d) -> const std::string& {
                return kinds_[static_cast<std::size_t>(kind_[static_cast<std::size_t>(d)])];
            };
            auto speed = m.link(kind(from), kind(to));
            if (!speed) speed = m.link(kind(to), kind(from));
            links_.push_back(speed.value_or(unknown));
            copier_.push_back(o.device(to).streams()     ? devices + 2 * to
                              : o.device(from).streams() ? devices + 2 * from + 1
                                                         : 0);
        }
    }
}

// What the rewriter will do is seen beforehand: constants are folded, and identities and reshapes do not run.
TENON_INLINE void cost_model::take_items(const program& p, const plan_options& o, const std::vector<int>& group_of) {
    std::vector<bool> awaited(p.items.size());
    for (const program_item& i : p.items)
        if (!i.removed)
            for (const int a : i.predecessors) awaited[static_cast<std::size_t>(a)] = true;
    std::vector<int> root(p.values.size()), place(p.items.size(), -1);
    for (std::size_t v = 0; v < root.size(); ++v) {
        root[v] = static_cast<int>(v);
        values_[v].bytes = static_cast<std::size_t>(bytes_of(p.values[v].type));
    }
    const auto value_of = [&](int v) -> value& {
        return values_[static_cast<std::size_t>(root[static_cast<std::size_t>(v)])];
    };
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const program_item& i = p.items[n];
        if (i.removed) continue;
        const bool alone = i.predecessors.empty() && !awaited[n];
        if (alone && view_kind_of(i) != view_kind::none) {
            root[static_cast<std::size_t>(i.outputs[0])] = root[static_cast<std::size_t>(i.inputs[0])];
            continue;
        }
        const bool constant = i.op->is(op_flags::constant);
        bool folded = constant || (alone && o.fold && !i.op->is(op_flags::stateful) && !i.op->is(op_flags::source) &&
                                   i.op->cpu && !i.outputs.empty());
        std::int64_t bytes = 0;
        for (const int v : i.outputs) bytes += bytes_of(p.value(v).type);
        folded = folded && (constant || bytes <= most_folded_bytes);
        for (std::size_t k = 0; k < i.inputs.size() && folded; ++k)
            folded = !p.reads(i, static_cast<int>(k)) || value_of(i.inputs[k]).once;
        if (folded) {
            for (const int v : i.outputs) values_[static_cast<std::size_t>(v)].once = true;
            continue;
        }
        const int number = static_cast<int>(items_.size()), group = group_of[n];
        place[n] = number;
        items_.push_back({group, reads_.size(), after_.size(), outputs_.size(), i.op->is(op_flags::source)});
        number_.push_back(static_cast<int>(n));
        items_of_[static_cast<std::size_t>(group)].push_back(number);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            if (!p.reads(i, static_cast<int>(k))) continue;
            value& v = value_of(i.inputs[k]);
            if (v.last == number) continue;
            v.last = number;
            const int from = root[static_cast<std::size_t>(i.inputs[k])];
            reads_.push_back(from);
            std::vector<int>& readers = readers_[static_cast<std::size_t>(from)];
            if (readers.empty() || readers.back() != group) readers.push_back(group);
        }
        for (const int a : i.predecessors)
            if (place[static_cast<std::size_t>(a)] >= 0) after_.push_back(place[static_cast<std::size_t>(a)]);
        for (const int v : i.outputs) {
            outputs_.push_back(v);
            values_[static_cast<std::size_t>(v)].group = group;
            values_[static_cast<std::size_t>(v)].keeps = variable_of(i) != nullptr;
        }
        items_.back().free = items_.back().free || (i.inputs.empty() && i.outputs.empty());
        nodes_ += !items_.back().free;
    }
    items_.push_back({0, reads_.size(), after_.size(), outputs_.size(), true});
    for (const int f : p.fetches) value_of(f).fetched = true;
}

TENON_INLINE void cost_model::take_times(const program& p, const cost_measurements& m) {
    constexpr double least = 1e-6, a_byte = 1e-10; // s
    const std::size_t kinds = kinds_.size(), count = items_.size() - 1;
    times_.resize(count * kinds);
    timed_.resize(count * kinds, true);
    for (std::size_t n = 0; n < count; ++n) {
        if (items_[n].free) continue;
        const std::string text = timed_as(p, p.item(number_[n]));
        double bytes = 0, known = 0;
        for (std::size_t r = items_[n].first_read; r < items_[n + 1].first_read; ++r)
            bytes += static_cast<double>(values_[static_cast<std::size_t>(reads_[r])].bytes);
        for (std::size_t v = items_[n].first_output; v < items_[n + 1].first_output; ++v)
            bytes += static_cast<double>(values_[static_cast<std::size_t>(outputs_[v])].bytes);
        for (std::size_t k = 0; k < kinds; ++k) {
            const auto seconds = m.kernel_seconds(kinds_[k], text);
            timed_[n * kinds + k] = seconds.has_value();
            times_[n * kinds + k] = seconds.value_or(0);
            known = std::max(known, seconds.value_or(0));
        }
        for (std::size_t k = 0; k < kinds; ++k)
            if (!timed_[n * kinds + k]) times_[n * kinds + k] = std::max(known, least + a_byte * bytes);
    }
}

TENON_INLINE bool cost_model::was_timed(std::size_t group, int device) const {
    const std::vector<int>& items = items_of_[group];
    return std::all_of(items.begin(), items.end(), [&](int n) { return timed(static_cast<std::size_t>(n), device); });
}

TENON_INLINE int cost_model::timed_nodes(const std::vector<int>& device_of) const {
    int sum = 0;
    for (std::size_t n = 0; n + 1 < items_.size(); ++n)
        sum += !items_[n].free && timed(n, device_of[static_cast<std::size_t>(items_[n].group)]);
    return sum;
}

TENON_INLINE std::vector<double> cost_model::shared_bytes(std::size_t group, const std::vector<int>& device_of) const {
    std::vector<double> bytes(kind_.size());
    const auto add = [&](int other, std::size_t count) {
        const int device = other < 0 ? 0 : device_of[static_cast<std::size_t>(other)];
        if (device >= 0 && other != static_cast<int>(group))
            bytes[static_cast<std::size_t>(device)] += static_cast<double>(count);
    };
    for (const int n : items_of_[group]) {
        const item &i = items_[static_cast<std::size_t>(n)], &next = items_[static_cast<std::size_t>(n) + 1];
        for (std::size_t r = i.first_read; r < next.first_read; ++r) {
            const value& v = values_[static_cast<std::size_t>(reads_[r])];
            if (!v.once) add(v.group, v.bytes);
        }
        for (std::size_t o = i.first_output; o < next.first_output; ++o) {
            const value& v = values_[static_cast<std::size_t>(outputs_[o])];
            for (const int reader : readers_[static_cast<std::size_t>(outputs_[o])]) add(reader, v.bytes);
            if (v.fetched) add(-1, v.bytes);
        }
    }
    return bytes;
}

// One step, node after node.
class cost_model::course {
public:
    course(const cost_model& m, std::vector<int>& device_of, const std::vector<std::vector<int>>& allowed) :
        m_(m),
        device_of_(device_of),
        allowed_(allowed),
        devices_(m.kind_.size()),
        here_(m.values_.size() * devices_, never),
        ends_(m.items_.size()),
        lines_(3 * devices_),
        kept_(m.there_),
        live_(devices_),
        peak_(devices_) {
        step_.busy.resize(devices_);
        for (std::size_t g = 0; g < device_of.size(); ++g)
            if (device_of[g] >= 0) kept_[static_cast<std::size_t>(device_of[g])] += m.variables_[g];
    }

    predicted_step run() {
        for (std::size_t n = 0; n + 1 < m_.items_.size(); ++n) perform(n);
        for (std::size_t v = 0; v < m_.values_.size(); ++v)
            if (m_.values_[v].fetched) step_.seconds = std::max(step_.seconds, bring(static_cast<int>(v), 0));
        for (std::size_t d = 0; d < devices_; ++d) {
            step_.memory.push_back(kept_[d] + peak_[d]);
            step_.excess += excess(d, peak_[d]);
        }
        return std::move(step_);
    }

private:
    static constexpr double never = -1;

    const value& value_at(int v) const { return m_.values_[static_cast<std::size_t>(v)]; }
    int home_of(const value& v) const { return v.group < 0 ? 0 : device_of_[static_cast<std::size_t>(v.group)]; }
    double& here(int v, int device) {
        return here_[static_cast<std::size_t>(v) * devices_ + static_cast<std::size_t>(device)];
    }
    std::size_t excess(std::size_t d, std::size_t bytes) const {
        const std::size_t all = kept_[d] + bytes;
        return m_.limits_[d] == 0 || all <= m_.limits_[d] ? 0 : all - m_.limits_[d];
    }
    void hold(int device, std::size_t bytes) {
        const auto d = static_cast<std::size_t>(device);
        live_[d] += arena_bytes_of(bytes);
        peak_[d] = std::max(peak_[d], live_[d]);
    }

    // When it would be there, if the line were not needed for others before.
    double arrival(int v, int device) {
        const value& from = value_at(v);
        const int home = home_of(from);
        if (from.once) return 0;
        if (here(v, device) >= 0) return here(v, device);
        const double made = from.group < 0 ? 0 : std::max(here(v, home), 0.0);
        if (home == device) return made;
        const auto line = static_cast<std::size_t>(m_.copier_[link(home, device)]);
        return std::max(made, lines_[line]) + m_.link(home, device).seconds(from.bytes);
    }
    std::size_t link(int from, int to) const {
        return static_cast<std::size_t>(from) * devices_ + static_cast<std::size_t>(to);
    }

    double bring(int v, int device) {
        const double at = arrival(v, device);
        if (here(v, device) >= 0) return at;
        const value& from = value_at(v);
        const int home = home_of(from);
        here(v, device) = at;
        if (home == device) return at;
        // What is there before the step crosses as soon as it begins, so its copies are there all along.
        if (from.is_there()) kept_[static_cast<std::size_t>(device)] += arena_bytes_of(from.bytes);
        else hold(device, from.bytes);
        if (from.once) return at;
        lines_[static_cast<std::size_t>(m_.copier_[link(home, device)])] = at;
        step_.crossing += from.bytes;
        return at;
    }

    // Ends its life on all devices.
    void drop(int v) {
        if (value_at(v).is_there()) return;
        for (std::size_t d = 0; d < devices_; ++d)
            if (here(v, static_cast<int>(d)) >= 0) live_[d] -= arena_bytes_of(value_at(v).bytes);
    }

    double begin_of(std::size_t n, int device) {
        double begin = lines_[static_cast<std::size_t>(m_.worker_[static_cast<std::size_t>(device)])];
        for (std::size_t a = m_.items_[n].first_after; a < m_.items_[n + 1].first_after; ++a)
            begin = std::max(begin, ends_[static_cast<std::size_t>(m_.after_[a])]);
        return begin;
    }

    void choose(std::size_t n) {
        const auto g = static_cast<std::size_t>(m_.items_[n].group);
        std::size_t least_excess = 0;
        double earliest = 0;
        int best = -1;
        for (const int d : allowed_[g]) {
            const auto at = static_cast<std::size_t>(d);
            std::size_t bytes = live_[at] + m_.variables_[g];
            double begin = m_.items_[n].free ? 0 : begin_of(n, d);
            for (std::size_t r = m_.items_[n].first_read; r < m_.items_[n + 1].first_read; ++r) {
                begin = std::max(begin, arrival(m_.reads_[r], d));
                if (here(m_.reads_[r], d) < 0) bytes += value_at(m_.reads_[r]).bytes;
            }
            for (std::size_t o = m_.items_[n].first_output; o < m_.items_[n + 1].first_output; ++o)
                if (!value_at(m_.outputs_[o]).keeps) bytes += value_at(m_.outputs_[o]).bytes;
            const std::size_t over = excess(at, std::max(bytes, peak_[at] + m_.variables_[g]));
            const double end = begin + m_.time_of(n, d);
            if (best >= 0 && (over != least_excess ? over > least_excess : end >= earliest)) continue;
            best = d;
            least_excess = over;
            earliest = end;
        }
        device_of_[g] = best;
        kept_[static_cast<std::size_t>(best)] += m_.variables_[g];
    }

    void perform(std::size_t n) {
        const item &i = m_.items_[n], &next = m_.items_[n + 1];
        if (device_of_[static_cast<std::size_t>(i.group)] < 0) choose(n);
        const int device = device_of_[static_cast<std::size_t>(i.group)];
        double begin = i.free ? 0 : begin_of(n, device);
        for (std::size_t r = i.first_read; r < next.first_read; ++r)
            begin = std::max(begin, bring(m_.reads_[r], device));
        const double time = m_.time_of(n, device);
        ends_[n] = begin + time;
        if (!i.free) lines_[static_cast<std::size_t>(m_.worker_[static_cast<std::size_t>(device)])] = ends_[n];
        step_.busy[static_cast<std::size_t>(device)] += time;
        step_.seconds = std::max(step_.seconds, ends_[n]);
        for (std::size_t o = i.first_output; o < next.first_output; ++o) {
            const value& v = value_at(m_.outputs_[o]);
            here(m_.outputs_[o], device) = ends_[n];
            if (!v.keeps) hold(device, v.bytes);
        }
        for (std::size_t o = i.first_output; o < next.first_output; ++o)
            if (value_at(m_.outputs_[o]).last < 0 && !value_at(m_.outputs_[o]).fetched) drop(m_.outputs_[o]);
        for (std::size_t r = i.first_read; r < next.first_read; ++r)
            if (value_at(m_.reads_[r]).last == static_cast<int>(n) && !value_at(m_.reads_[r]).fetched)
                drop(m_.reads_[r]);
    }

    const cost_model& m_;
    std::vector<int>& device_of_;
    const std::vector<std::vector<int>>& allowed_;
    const std::size_t devices_;
    std::vector<double> here_;  // by value and device: when it is there
    std::vector<double> ends_;  // by item
    std::vector<double> lines_; // when each is free
    std::vector<std::size_t> kept_, live_, peak_;
    predicted_step step_;
};

TENON_INLINE predicted_step cost_model::judge(std::vector<int>& device_of,
                                              const std::vector<std::vector<int>>& allowed) const {
    return course(*this, device_of, allowed).run();
}

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
    if (o.devices.size() < 2) return;
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
    for (std::size_t d = 0; d < o.devices.size(); ++d) {
        const std::size_t limit = m.limit(static_cast<int>(d));
        text += "\n  " + o.devices[d]->name() + ": busy " + detail::shown_seconds(now.busy[d]) + ", " +
                std::to_string(now.memory[d]) + (limit ? " of " + std::to_string(limit) : std::string()) +
                " bytes; by the rules " + detail::shown_seconds(rules.busy[d]) + ", " +
                std::to_string(rules.memory[d]) + " bytes";
    }
}

} // namespace tenon::runtime
