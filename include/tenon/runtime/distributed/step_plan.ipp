#pragma once

#include <algorithm>

#include <tenon/runtime/distributed/step_plan.hpp>

namespace tenon::runtime {

namespace detail {

// What a task's subgraph is planned with, of what the whole program is.
inline plan_options options_of_task(const plan_options& o, const step_task& t) {
    plan_options own = o;
    own.devices.clear();
    own.described.clear();
    for (const int d : t.devices.devices) {
        own.devices.push_back(o.devices[static_cast<std::size_t>(d)]);
        own.described.push_back(o.description(d));
    }
    if (t.pool) {
        own.threads = t.pool->size();
        own.side_by_side = std::min(o.side_by_side, own.threads);
    }
    return own;
}

} // namespace detail

TENON_INLINE step_plan::step_plan(program&& placed, const plan_options& o, const std::vector<step_task>& tasks,
                                  step_exchange* exchange) :
    own_(tasks[0].devices), exchange_(exchange), devices_(o.described.size()) {
    if (tasks.size() == 1) {
        first_ = std::make_unique<subgraph>(std::move(placed), o);
        only_ = first_->only();
        return;
    }
    std::vector<task_devices> devices;
    for (const step_task& t : tasks) devices.push_back(t.devices);
    task_programs cut = cut_by_task(placed, devices, o);
    edges_ = std::move(cut.edges);
    const bool alone =
        std::all_of(cut.programs.begin() + 1, cut.programs.end(), [](const program& p) { return p.items.empty(); });
    const plan_options first = detail::options_of_task(o, tasks[0]);
    own_changes_ = task_changed_by(cut.programs[0], first);
    first_ = std::make_unique<subgraph>(std::move(cut.programs[0]), first, !alone);
    if (alone) only_ = first_->only();
    for (std::size_t t = 1; t < tasks.size(); ++t) {
        if (cut.programs[t].items.empty()) continue;
        const plan_options own = detail::options_of_task(o, tasks[t]);
        others_.push_back({tasks[t].remote ? tasks[t].remote->plan_subgraph(std::move(cut.programs[t]), own, edges_)
                                           : make_local_subgraph(std::move(cut.programs[t]), own, *tasks[t].pool),
                           tasks[t].devices});
    }
}

TENON_INLINE plan_summary step_plan::summary() const {
    plan_summary all = first_->summary();
    std::vector<device_layout> own = std::move(all.devices);
    all.devices.assign(devices_, {});
    const auto put = [&](std::vector<device_layout>&& layouts, const task_devices& t) {
        for (std::size_t d = 0; d < layouts.size(); ++d)
            all.devices[static_cast<std::size_t>(t.devices[d])] = std::move(layouts[d]);
    };
    put(std::move(own), own_);
    for (const other& p : others_) {
        plan_summary its = p.plan->summary();
        all.add(its);
        all.lower_bound += its.lower_bound; // subgraphs run at the same time
        put(std::move(its.devices), p.task);
    }
    return all;
}

TENON_INLINE void step_plan::when_known(std::function<void()> then) const {
    // The last to let go of it calls.
    const std::shared_ptr<void> all(nullptr, [call = std::move(then)](void*) { call(); });
    for (const other& p : others_) p.plan->when_known([all] {});
}

TENON_INLINE std::vector<std::string> step_plan::order() const {
    std::vector<std::string> lines = first_->order();
    for (const other& p : others_)
        for (std::string& line : p.plan->order()) lines.push_back(std::move(line));
    return lines;
}

TENON_INLINE std::size_t step_plan::kept_bytes() const {
    std::size_t sum = first_->kept_bytes();
    for (const other& p : others_) sum += p.plan->kept_bytes();
    return sum;
}

TENON_INLINE recording_counts step_plan::recordings() const {
    recording_counts sum = first_->recordings();
    for (const other& p : others_) sum += p.plan->recordings();
    return sum;
}

TENON_INLINE given_sizes step_plan::last_sizes() const {
    given_sizes all = first_->last_sizes();
    for (const other& p : others_) {
        const given_sizes more = p.plan->last_sizes();
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

TENON_INLINE std::unique_ptr<distributed_step> step_plan::take_step() {
    {
        const std::lock_guard lock(guard_);
        if (!spare_.empty()) {
            std::unique_ptr<distributed_step> s = std::move(spare_.back());
            spare_.pop_back();
            return s;
        }
    }
    std::vector<std::unique_ptr<task_run>> others;
    for (const other& p : others_) others.push_back(p.plan->make_step());
    std::unique_ptr<step_rendezvous> values;
    if (!others.empty() && exchange_) values = exchange_->make_rendezvous(edges_);
    else if (!others.empty()) values = make_local_rendezvous(edges_.size());
    return std::make_unique<distributed_step>(*first_, std::move(others), std::move(values), own_changes_);
}

TENON_INLINE void step_plan::give_step(std::unique_ptr<distributed_step> s) noexcept {
    constexpr std::size_t kept = 16; // more steps at a time are seldom, and may be very many
    const std::lock_guard lock(guard_);
    if (spare_.capacity() == 0) {
        try {
            spare_.reserve(kept);
        } catch (...) {
            return;
        }
    }
    if (spare_.size() < kept) spare_.push_back(std::move(s));
}

} // namespace tenon::runtime
