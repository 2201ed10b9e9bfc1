#pragma once

#include <tenon/runtime/place/cost_model.hpp>
#include <tenon/runtime/plan/layout.hpp>
#include <tenon/runtime/plan/rewrite/rewrite.hpp>

namespace tenon::runtime::detail {

TENON_INLINE cost_model::cost_model(const program& p, const plan_options& o, const cost_measurements& m,
                                    std::vector<int> group_of, std::size_t groups) :
    values_(p.values.size()), items_of_(groups), readers_(p.values.size()), variables_(groups) {
    for (const device_description& d : o.described) {
        const std::string kind = timed_on(d.attributes);
        const auto at = std::find(kinds_.begin(), kinds_.end(), kind);
        kind_.push_back(static_cast<int>(at - kinds_.begin()));
        if (at == kinds_.end()) kinds_.push_back(kind);
        there_.push_back(d.variable_bytes);
        limits_.push_back(d.memory_limit);
    }
    take_links(o, m);
    take_items(p, o, group_of);
    take_times(p, m);
}

// Lines: one for what each device computes, then two for its copies, in and out. Devices without streams are the
// machine's own threads: they share the first's.
TENON_INLINE void cost_model::take_links(const plan_options& o, const cost_measurements& m) {
    constexpr link_speed unknown{.latency = 1e-5, .bandwidth = 1e10};
    const int devices = static_cast<int>(o.described.size());
    for (int from = 0; from < devices; ++from) {
        worker_.push_back(o.description(from).has_streams ? from : 0);
        for (int to = 0; to < devices; ++to) {
            const auto kind = [&](int d) -> const std::string& {
                return kinds_[static_cast<std::size_t>(kind_[static_cast<std::size_t>(d)])];
            };
            auto speed = m.link(kind(from), kind(to));
            if (!speed) speed = m.link(kind(to), kind(from));
            links_.push_back(speed.value_or(unknown));
            copier_.push_back(o.description(to).has_streams     ? devices + 2 * to
                              : o.description(from).has_streams ? devices + 2 * from + 1
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
            if (v.first < 0) v.first = number;
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

TENON_INLINE std::vector<std::size_t> cost_model::in_order(std::vector<std::size_t> groups) const {
    std::vector<int> place(items_of_.size());
    for (const std::size_t g : groups) {
        int first = -1, first_read = -1;
        for (const int n : items_of_[g]) {
            const item &i = items_[static_cast<std::size_t>(n)], &next = items_[static_cast<std::size_t>(n) + 1];
            if (first < 0) first = n;
            for (std::size_t o = i.first_output; i.free && o < next.first_output; ++o) {
                const int read = values_[static_cast<std::size_t>(outputs_[o])].first;
                if (read >= 0 && (first_read < 0 || read < first_read)) first_read = read;
            }
        }
        place[g] = first_read >= 0 ? first_read : first;
    }
    std::stable_sort(groups.begin(), groups.end(), [&](std::size_t a, std::size_t b) { return place[a] < place[b]; });
    return groups;
}

TENON_INLINE std::vector<double> cost_model::cut_bytes(const std::vector<std::size_t>& order) const {
    std::vector<int> place(items_of_.size(), -1);
    for (std::size_t at = 0; at < order.size(); ++at) place[order[at]] = static_cast<int>(at);
    std::vector<double> change(order.size() + 1);
    for (std::size_t v = 0; v < values_.size(); ++v) {
        const value& is = values_[v];
        if (is.once || is.group < 0 || readers_[v].empty()) continue;
        int first = place[static_cast<std::size_t>(is.group)], last = first;
        if (first < 0) continue;
        for (const int g : readers_[v]) {
            const int at = place[static_cast<std::size_t>(g)];
            if (at < 0) continue;
            first = std::min(first, at);
            last = std::max(last, at);
        }
        change[static_cast<std::size_t>(first) + 1] += static_cast<double>(is.bytes);
        if (static_cast<std::size_t>(last) + 1 < change.size())
            change[static_cast<std::size_t>(last) + 1] -= static_cast<double>(is.bytes);
    }
    double sum = 0;
    for (double& c : change) c = sum += c;
    return change;
}

TENON_INLINE double cost_model::own_bytes(std::size_t group) const {
    double bytes = static_cast<double>(variables_[group]);
    for (const int n : items_of_[group])
        for (std::size_t o = items_[static_cast<std::size_t>(n)].first_output;
             o < items_[static_cast<std::size_t>(n) + 1].first_output; ++o) {
            const value& v = values_[static_cast<std::size_t>(outputs_[o])];
            if (!v.keeps) bytes += static_cast<double>(v.bytes);
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

} // namespace tenon::runtime::detail
