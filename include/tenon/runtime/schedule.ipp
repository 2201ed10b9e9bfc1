#pragma once

#include <algorithm>
#include <queue>

#include <tenon/runtime/schedule.hpp>

namespace tenon::runtime {

namespace detail {

class scheduler {
public:
    scheduler(program& p, const plan_options& o) : p_(p), o_(o), ordering_(p, o) {}

    scheduled run() {
        s_.order = ordering_.order();
        s_.waits_for = ordering_.dependencies(s_.order);
        s_.memory = lay_out(p_, s_.order);
        if (worth_side_by_side()) lay_out_side_by_side();
        else s_.waits_for.clear();
        return std::move(s_);
    }

private:
    const program_item& item(int i) const { return p_.item(i); }

    // Where a good part of the work does not wait for each other and is worth a thread.
    bool worth_side_by_side() const {
        constexpr std::size_t largest = 4000; // the searches below are quadratic
        if (o_.side_by_side < 2 || s_.order.size() > largest) return false;
        std::vector<double> ends(s_.order.size());
        double cost = 0, critical_path = 0;
        for (std::size_t at = 0; at < ends.size(); ++at) {
            const double own = item(s_.order[at]).kernel->cost();
            for (const int w : s_.waits_for[at]) ends[at] = std::max(ends[at], ends[static_cast<std::size_t>(w)]);
            ends[at] += own;
            cost += own;
            critical_path = std::max(critical_path, ends[at]);
        }
        return cost > 2e5 && critical_path < 0.75 * cost;
    }

    // At first memory passes on between nodes only where the second waits for the first anyway. Where that takes more
    // than the limit, or more times the serial step's than nodes run at a time, the lifetimes are those on so many
    // threads, and what takes over memory waits for those that had it.
    void lay_out_side_by_side() {
        const scheduled in_order = s_;
        const auto fits = [&] { return o_.fits(s_.memory.arena_bytes + s_.memory.fetched_bytes); };
        s_.memory = lay_out(p_, s_.order, {.later = what_comes_later(), .until = {}});
        constexpr std::size_t little = 1 << 20;
        const std::size_t enough = in_order.memory.arena_bytes * static_cast<std::size_t>(o_.side_by_side) + little;
        if (fits() && s_.memory.arena_bytes <= enough) return;
        const std::vector<int> until = order_on_threads();
        s_.waits_for = ordering_.dependencies(s_.order);
        s_.memory = lay_out(p_, s_.order, {.later = {}, .until = until});
        wait_for_memory();
        if (fits() && worth_side_by_side()) return;
        s_ = in_order;
        s_.waits_for.clear();
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
    // thought to. Returns, by position, the last that begins before it ends.
    std::vector<int> order_on_threads() {
        const std::size_t n = s_.order.size();
        const edges after = reversed(s_.waits_for);
        std::vector<std::size_t> waiting(n);
        std::vector<double> begins, ends; // by place in the new order
        std::vector<int> order;
        using ending = std::pair<double, int>;
        std::priority_queue<ending, std::vector<ending>, std::greater<>> running;
        std::priority_queue<int, std::vector<int>, std::greater<>> ready;
        for (std::size_t at = 0; at < n; ++at) {
            waiting[at] = s_.waits_for[at].size();
            if (waiting[at] == 0) ready.push(static_cast<int>(at));
        }
        double now = 0;
        while (order.size() < n) {
            while (!ready.empty() && running.size() < static_cast<std::size_t>(o_.side_by_side)) {
                const int at = ready.top();
                ready.pop();
                order.push_back(s_.order[static_cast<std::size_t>(at)]);
                begins.push_back(now);
                ends.push_back(now + item(order.back()).kernel->cost());
                running.push({ends.back(), at});
            }
            now = running.top().first;
            for (const int next : after[static_cast<std::size_t>(running.top().second)])
                if (--waiting[static_cast<std::size_t>(next)] == 0) ready.push(next);
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

    void wait_for_memory() {
        // Who touched which part of the arena since it was last written over.
        struct touch {
            std::size_t begin, end;
            int position;
        };
        std::vector<touch> touches;
        const auto part_of = [&](int v, int at) -> touch {
            const int root = p_.root(v);
            const placement& place = s_.memory.placements[static_cast<std::size_t>(root)];
            if (place.where != placement::kind::arena) return {0, 0, at};
            return {place.offset,
                    place.offset + arena_bytes_of(static_cast<std::size_t>(bytes_of(p_.value(root).type))), at};
        };
        const auto write = [&](const touch& w) {
            if (w.begin == w.end) return;
            for (const touch& t : touches)
                if (t.begin < w.end && w.begin < t.end && t.position != w.position)
                    s_.waits_for[static_cast<std::size_t>(w.position)].push_back(t.position);
            std::erase_if(touches, [&](const touch& t) { return w.begin <= t.begin && t.end <= w.end; });
            touches.push_back(w);
        };
        for (int at = 0; at < static_cast<int>(s_.order.size()); ++at) {
            const program_item& it = item(s_.order[static_cast<std::size_t>(at)]);
            for (const int o : it.outputs) write(part_of(o, at));
            if (const std::size_t scratch = it.kernel->scratch_bytes()) {
                const std::size_t begin = s_.memory.scratch[static_cast<std::size_t>(at)];
                write({begin, begin + arena_bytes_of(scratch), at});
            }
            for (std::size_t k = 0; k < it.inputs.size(); ++k)
                if (it.read[k]) touches.push_back(part_of(it.inputs[k], at));
        }
        keep_each_once(s_.waits_for);
    }

    program& p_;
    const plan_options& o_;
    ordering ordering_;
    scheduled s_;
};

} // namespace detail

TENON_INLINE scheduled schedule(program& p, const plan_options& o) { return detail::scheduler(p, o).run(); }

} // namespace tenon::runtime
