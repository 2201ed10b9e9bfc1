#pragma once

#include <algorithm>

#include <tenon/runtime/run/step_plan.hpp>

namespace tenon::runtime {

TENON_INLINE step_plan::step_plan(program&& placed, const plan_options& o, const std::vector<step_task>& tasks) :
    devices_(o.devices.size()) {
    if (tasks.size() == 1) {
        parts_.push_back({std::make_unique<staged_plan>(std::move(placed), o), tasks[0]});
        only_ = parts_[0].plan->only();
        return;
    }
    std::vector<task_devices> devices;
    for (const step_task& t : tasks) devices.push_back(t.devices);
    program_parts cut = cut_by_task(placed, devices, o);
    edges_ = cut.edges;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        if (t > 0 && cut.parts[t].items.empty()) continue;
        plan_options own = o;
        own.devices.clear();
        for (const int d : tasks[t].devices.devices) own.devices.push_back(o.devices[static_cast<std::size_t>(d)]);
        own.threads = tasks[t].pool->size();
        own.side_by_side = std::min(o.side_by_side, own.threads);
        parts_.push_back({std::make_unique<staged_plan>(std::move(cut.parts[t]), own, true), tasks[t]});
    }
}

TENON_INLINE plan_summary step_plan::summary() const {
    plan_summary all;
    all.devices.resize(devices_);
    for (const part& p : parts_) {
        plan_summary own = p.plan->summary();
        all.add(own);
        all.lower_bound += own.lower_bound; // parts run at the same time
        for (std::size_t d = 0; d < own.devices.size(); ++d)
            all.devices[static_cast<std::size_t>(p.task.devices.devices[d])] = std::move(own.devices[d]);
    }
    return all;
}

TENON_INLINE std::vector<std::string> step_plan::order() const {
    std::vector<std::string> lines;
    for (const part& p : parts_)
        for (std::string& line : p.plan->order()) lines.push_back(std::move(line));
    return lines;
}

TENON_INLINE std::size_t step_plan::kept_bytes() const {
    std::size_t sum = 0;
    for (const part& p : parts_) sum += p.plan->kept_bytes();
    return sum;
}

TENON_INLINE std::unique_ptr<parted_step> step_plan::take_step() {
    {
        const std::lock_guard lock(guard_);
        if (!spare_.empty()) {
            std::unique_ptr<parted_step> s = std::move(spare_.back());
            spare_.pop_back();
            return s;
        }
    }
    std::vector<parted_step::part> parts;
    for (const part& p : parts_) parts.push_back({p.plan.get(), p.task.pool});
    return std::make_unique<parted_step>(parts, edges_);
}

TENON_INLINE void step_plan::give_step(std::unique_ptr<parted_step> s) noexcept {
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
