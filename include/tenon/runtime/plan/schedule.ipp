#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include <tenon/runtime/plan/index_set.hpp>
#include <tenon/runtime/plan/schedule.hpp>

#include <tenon/runtime/plan/row_runs.inl>

namespace tenon::runtime {

namespace detail {

class scheduler {
public:
    scheduler(program& p, const plan_options& o) : p_(p), o_(o), ordering_(p, o) {}

    scheduled run() {
        s_.order = ordering_.order();
        if (o_.has_streams()) { // which are told what to wait for
            const std::vector<edges::edge> waits = ordering_.dependencies(s_.order);
            if (!lay_out_beside_streams(waits)) lay_out_for_streams();
            find_waits(waits);
            return std::move(s_);
        }
        if (ordering_.has_updates()) gather_updates();
        if (o_.side_by_side > 1 && cost() > worth_threads) {
            s_.waits_for = {s_.order.size(), ordering_.dependencies(s_.order)};
            if (worth_side_by_side() && lay_out_side_by_side()) return std::move(s_);
            s_.waits_for = {};
        }
        s_.memory = lay_out(p_, o_, s_.order);
        if (!updates_apart_.empty() && !fits()) {
            s_.order = std::move(updates_apart_);
            s_.memory = lay_out(p_, o_, s_.order);
        }
        if (worth_row_runs()) find_row_runs();
        return std::move(s_);
    }

private:
    const program_item& item(int i) const { return p_.item(i); }

    // Where a step's updates run together, at its end, other steps wait for those only. Their gradients are kept until then:
    // where that takes much more memory, they run as soon as they can.
    void gather_updates() {
        std::vector<int> order = ordering_.order(true);
        if (order == s_.order) return;
        std::size_t there = std::size_t{4} << 20; // a quarter of it is little
        for (const auto& v : p_.variables) there += static_cast<std::size_t>(bytes_of(v->type()));
        const std::size_t apart = most_at_a_time(s_.order), together = most_at_a_time(order);
        if (together > apart && together - apart > (there + apart) / 4) return;
        updates_apart_ = std::exchange(s_.order, std::move(order));
    }

    // Bytes of values that live at one time, in this order.
    std::size_t most_at_a_time(const std::vector<int>& order) const {
        const auto in_arena = [&](const program_value& v) {
            return v.producer >= 0 && !v.variable && !v.constant && v.fetch < 0 && v.view_of < 0;
        };
        std::vector<int> last(p_.values.size(), -1);
        for (std::size_t at = 0; at < order.size(); ++at) {
            const program_item& it = item(order[at]);
            for (const int o : it.outputs) last[static_cast<std::size_t>(o)] = static_cast<int>(at);
            for (std::size_t k = 0; k < it.inputs.size(); ++k)
                if (it.read[k]) last[static_cast<std::size_t>(p_.root(it.inputs[k]))] = static_cast<int>(at);
        }
        std::vector<std::ptrdiff_t> change(order.size() + 1);
        for (std::size_t at = 0; at < order.size(); ++at)
            for (const int o : item(order[at]).outputs) {
                if (!in_arena(p_.value(o))) continue;
                const std::ptrdiff_t bytes = bytes_of(p_.value(o).type);
                change[at] += bytes;
                change[static_cast<std::size_t>(last[static_cast<std::size_t>(o)]) + 1] -= bytes;
            }
        std::ptrdiff_t live = 0, most = 0;
        for (const std::ptrdiff_t c : change) most = std::max(most, live += c);
        return static_cast<std::size_t>(most);
    }

    static constexpr double worth_threads = 2e5; // ns

    double cost() const {
        double sum = 0;
        for (const int i : s_.order) sum += item(i).kernel->cost();
        return sum;
    }

    // Where a good part of the work does not wait for each other.
    bool worth_side_by_side() const {
        std::vector<double> ends(s_.order.size());
        double all = 0, critical_path = 0;
        for (std::size_t at = 0; at < ends.size(); ++at) {
            const double own = item(s_.order[at]).kernel->cost();
            for (const int w : s_.waits_for[at]) ends[at] = std::max(ends[at], ends[static_cast<std::size_t>(w)]);
            ends[at] += own;
            all += own;
            critical_path = std::max(critical_path, ends[at]);
        }
        return critical_path < 0.75 * all;
    }

    // Kernels that are measured, or whose results are looked at, run one by one; and nobody waits awake for what follows in short steps.
    bool worth_row_runs() const {
        constexpr double shortest = 1e5; // ns
        constexpr std::size_t many = 2000;
        return o_.threads > 1 && row_kernel::row_parts % o_.threads == 0 && !o_.measure && !o_.check_numerics &&
               !o_.is_body && s_.order.size() <= many && cost() > shortest;
    }
    // What threads do side by side keeps its memory until all have ended. Where that takes much more there is none of it.
    void find_row_runs() {
        constexpr std::size_t little = 1 << 18;
        const std::size_t in_order = s_.memory.arena_bytes();
        std::vector<int> order = s_.order;
        const edges waits(order.size(), ordering_.dependencies(order));
        s_.row_runs = row_run_finder(p_, o_, waits, s_.order).run();
        if (s_.row_runs.empty()) return;
        std::vector<int> until(s_.order.size());
        std::iota(until.begin(), until.end(), 0);
        for (const row_run& r : s_.row_runs)
            for (std::size_t at = r.first; at < r.end(); ++at) until[at] = static_cast<int>(r.end()) - 1;
        s_.memory = lay_out(p_, o_, s_.order, {.later = {}, .until = std::move(until)});
        if (!fits() || s_.memory.arena_bytes() > in_order + little) {
            s_.order = std::move(order);
            s_.row_runs.clear();
            s_.memory = lay_out(p_, o_, s_.order); // kernels have been divided
        }
    }

    bool fits() const {
        for (std::size_t d = 0; d < s_.memory.devices.size(); ++d)
            if (!o_.fits(static_cast<int>(d), s_.memory.devices[d].bytes())) return false;
        return true;
    }

    // At first memory passes on between nodes only where the second waits for the first anyway. Where that takes more
    // than the limit, or more times the serial step's than nodes run at a time, the lifetimes are those on so many
    // threads, and what takes over memory waits for those that had it. So it is at once where the nodes are many: the
    // sets of what waits for each would be large. False where neither will do, with the order as it was.
    bool lay_out_side_by_side() {
        constexpr std::size_t many = 4000;
        if (s_.order.size() <= many) {
            s_.memory = lay_out(p_, o_, s_.order, {.later = what_comes_later(), .until = {}});
            constexpr std::size_t little = 1 << 20;
            const std::size_t in_order = lay_out(p_, o_, s_.order).arena_bytes();
            if (fits() && s_.memory.arena_bytes() <= in_order * static_cast<std::size_t>(o_.side_by_side) + little)
                return true;
        }
        std::vector<int> order = s_.order;
        std::vector<int> places;
        const std::vector<int> until = order_on_threads(places);
        s_.memory = lay_out(p_, o_, s_.order, {.later = {}, .until = until});
        find_waits(waits_in_order(places));
        if (fits() && worth_side_by_side()) return true;
        s_.order = std::move(order);
        return false;
    }

    // The same for what the host does beside streams: where that is much, it passes memory on only to what waits for it anyway.
    bool lay_out_beside_streams(const std::vector<edges::edge>& waits) {
        constexpr std::size_t many = 4000, little = 1 << 20;
        const std::size_t n = s_.order.size();
        std::vector<char> on_host(n);
        double cost = 0;
        for (std::size_t at = 0; at < n; ++at) {
            const program_item& it = item(s_.order[at]);
            on_host[at] = worker_of(p_, o_, it).stream < 0;
            if (on_host[at]) cost += it.kernel->cost();
        }
        if (o_.side_by_side == 1 || cost < worth_threads || n > many) return false;
        s_.waits_for = {n, waits};
        position_sets later = what_comes_later();
        for (std::size_t at = 0; at < n; ++at) // what streams have to do with is given to them in order
            for (std::size_t next = at + 1; next < n; ++next)
                if (!on_host[at] || !on_host[next]) later.insert(static_cast<int>(at), static_cast<int>(next));
        s_.memory = lay_out(p_, o_, s_.order, {.later = std::move(later), .until = {}});
        const std::size_t in_order = lay_out(p_, o_, s_.order).arena_bytes();
        return fits() && s_.memory.arena_bytes() <= in_order * static_cast<std::size_t>(o_.side_by_side) + little;
    }

    // What streams read of the host's memory stays until the host has done what it has in their midst: it would wait for them otherwise,
    // and the step could not be given to them at once.
    void lay_out_for_streams() {
        const auto is_on_host = [&](std::size_t at) { return worker_of(p_, o_, item(s_.order[at])).stream < 0; };
        std::vector<int> until(s_.order.size());
        bool given_later = false; // something, to a stream
        int last_of_host = -1;    // before that
        for (std::size_t at = until.size(); at-- > 0;) {
            until[at] = static_cast<int>(at);
            if (!is_on_host(at)) given_later = true;
            else if (given_later && last_of_host < 0) last_of_host = until[at];
        }
        for (std::size_t at = 0; at < until.size(); ++at) {
            const program_item& it = item(s_.order[at]);
            if (it.op != &transfer_definition || is_on_host(at)) continue;
            if (!o_.device(p_.value(p_.root(it.inputs[0])).device).streams())
                until[at] = std::max(until[at], last_of_host);
        }
        s_.memory = lay_out(p_, o_, s_.order, {.later = {}, .until = std::move(until)});
        if (!fits()) s_.memory = lay_out(p_, o_, s_.order);
    }

    position_sets what_comes_later() const {
        position_sets later(s_.order.size());
        for (int at = static_cast<int>(s_.order.size()); at-- > 0;)
            for (const int w : s_.waits_for[static_cast<std::size_t>(at)]) {
                later.unite(w, at);
                later.insert(w, at);
            }
        return later;
    }

    // Takes the order in which nodes begin on as many threads as run them side by side, if they take the time they are
    // thought to. Returns, by position, the last that begins before it ends, and the new places of the old positions.
    std::vector<int> order_on_threads(std::vector<int>& places) {
        const std::size_t n = s_.order.size();
        const edges after = s_.waits_for.reversed();
        std::vector<std::size_t> waiting(n);
        std::vector<double> begins, ends; // by place in the new order
        std::vector<int> order;
        using ending = std::pair<double, int>;
        std::priority_queue<ending, std::vector<ending>, std::greater<>> running;
        index_set ready(n);
        places.resize(n);
        for (std::size_t at = 0; at < n; ++at) {
            waiting[at] = s_.waits_for[at].size();
            if (waiting[at] == 0) ready.insert(static_cast<int>(at));
        }
        double now = 0;
        while (order.size() < n) {
            while (!ready.empty() && running.size() < static_cast<std::size_t>(o_.side_by_side)) {
                const int at = ready.take_smallest();
                places[static_cast<std::size_t>(at)] = static_cast<int>(order.size());
                order.push_back(s_.order[static_cast<std::size_t>(at)]);
                begins.push_back(now);
                ends.push_back(now + item(order.back()).kernel->cost());
                running.push({ends.back(), at});
            }
            now = running.top().first;
            for (const int next : after[static_cast<std::size_t>(running.top().second)])
                if (--waiting[static_cast<std::size_t>(next)] == 0) ready.insert(next);
            running.pop();
        }
        s_.order = std::move(order);
        std::vector<int> until(n);
        for (std::size_t at = 0; at < n; ++at) {
            const auto before = std::lower_bound(begins.begin(), begins.end(), ends[at]) - begins.begin() - 1;
            until[at] = static_cast<int>(std::max(before, static_cast<std::ptrdiff_t>(at)));
        }
        return until;
    }

    // The same dependencies, of positions that are elsewhere now.
    std::vector<edges::edge> waits_in_order(const std::vector<int>& places) const {
        std::vector<edges::edge> waits;
        waits.reserve(4 * places.size());
        for (std::size_t at = 0; at < places.size(); ++at)
            for (std::size_t k = 0; k < s_.waits_for[at].size(); ++k)
                waits.push_back(
                    {places[at], places[static_cast<std::size_t>(s_.waits_for[at][k])], s_.waits_for.why(at, k)});
        return waits;
    }

    // Adds what is waited for by memory: what writes a part of the arena waits for all who touched what lay there, who wrote
    // it and who read it.
    void find_waits(std::vector<edges::edge> waits) {
        struct part {
            std::size_t end;
            int holds; // a value, or ~position: the working memory of the kernel there
        };
        using arena = std::map<std::size_t, part>; // by where they begin
        struct touch {
            int position, before; // another of the value, or -1
        };
        std::vector<touch> touches;
        std::vector<int> last_touch(p_.values.size(), -1);
        const auto touched = [&](int value, int position) {
            touches.push_back({position, std::exchange(last_touch[static_cast<std::size_t>(value)],
                                                       static_cast<int>(touches.size()))});
        };
        const auto wait_for = [&](const part& p, int position) {
            if (p.holds < 0) waits.push_back({position, ~p.holds, edge_kind::memory});
            else
                for (int t = last_touch[static_cast<std::size_t>(p.holds)]; t >= 0;
                     t = touches[static_cast<std::size_t>(t)].before)
                    waits.push_back({position, touches[static_cast<std::size_t>(t)].position, edge_kind::memory});
        };
        const auto split = [](arena& parts, std::size_t at) {
            auto next = parts.lower_bound(at);
            if (next == parts.begin() || (next != parts.end() && next->first == at)) return next;
            part& before = std::prev(next)->second;
            if (before.end <= at) return next;
            next = parts.emplace_hint(next, at, before);
            before.end = at;
            return next;
        };
        std::vector<arena> arenas(o_.devices.size());
        const auto write = [&](int device, std::size_t begin, std::size_t bytes, int position, int holds) {
            arena& parts = arenas[static_cast<std::size_t>(device)];
            const std::size_t end = begin + bytes;
            auto p = parts.lower_bound(begin);
            if (p != parts.end() && p->first == begin && p->second.end == end) { // as nearly always
                wait_for(p->second, position);
                p->second.holds = holds;
                return;
            }
            const auto last = split(parts, end);
            for (p = split(parts, begin); p != last; p = parts.erase(p)) wait_for(p->second, position);
            parts.emplace_hint(last, begin, part{end, holds});
        };
        const auto in_arena = [&](int v) {
            return s_.memory.locations[static_cast<std::size_t>(v)].where == location::kind::arena;
        };
        for (int at = 0; at < static_cast<int>(s_.order.size()); ++at) {
            const program_item& it = item(s_.order[static_cast<std::size_t>(at)]);
            for (const int o : it.outputs)
                if (in_arena(o)) {
                    write(it.device, s_.memory.locations[static_cast<std::size_t>(o)].offset,
                          arena_bytes_of(static_cast<std::size_t>(bytes_of(p_.value(o).type))), at, o);
                    touched(o, at);
                }
            if (const std::size_t scratch = it.kernel->scratch_bytes())
                write(it.device, s_.memory.scratch[static_cast<std::size_t>(at)], arena_bytes_of(scratch), at, ~at);
            for (std::size_t k = 0; k < it.inputs.size(); ++k)
                if (it.read[k] && in_arena(it.inputs[k])) touched(p_.root(it.inputs[k]), at);
        }
        s_.waits_for = {s_.order.size(), waits};
    }

    program& p_;
    const plan_options& o_;
    ordering ordering_;
    std::vector<int> updates_apart_; // the order in which updates run as soon as they can, where it is another
    scheduled s_;
};

} // namespace detail

TENON_INLINE scheduled schedule(program& p, const plan_options& o) { return detail::scheduler(p, o).run(); }

} // namespace tenon::runtime
