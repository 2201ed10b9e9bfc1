#pragma once

#include <algorithm>
#include <mutex>

#include <tenon/cluster/replica_device_setter.hpp>
#include <tenon/core/error.hpp>

namespace tenon {

// Whose turn it is. Guarded by `guard`: what is shared by the copies of a setter.
struct replica_device_setter::turn {
    struct server {
        int task;
        std::int64_t bytes;
    };
    std::mutex guard;
    std::vector<server> servers; // by task
    std::size_t next = 0;
    ps_strategy strategy = ps_strategy::round_robin;

    // The task for a resource of so many bytes, of which `pinned` says the task where it is not -1.
    int take(std::int64_t bytes, int pinned) {
        const std::lock_guard lock(guard);
        std::size_t chosen = next;
        if (strategy == ps_strategy::round_robin) next = (next + 1) % servers.size();
        else {
            // A resource that is elsewhere is no load of these.
            const auto at =
                std::find_if(servers.begin(), servers.end(), [&](const server& s) { return s.task == pinned; });
            if (pinned >= 0 && at == servers.end()) return pinned;
            chosen = static_cast<std::size_t>(
                (pinned >= 0 ? at
                             : std::min_element(servers.begin(), servers.end(),
                                                [](const server& a, const server& b) { return a.bytes < b.bytes; })) -
                servers.begin());
            servers[chosen].bytes += bytes;
        }
        return servers[chosen].task;
    }
};

namespace detail {

inline void check_ps_device(const device_name& ps) {
    if (ps.task >= 0)
        throw invalid_argument_error("replica_device_setter: ps_device " + to_string(ps) +
                                     " sets a task; it chooses the task itself");
}

inline std::vector<int> ps_tasks_of(int count) {
    if (count < 0)
        throw invalid_argument_error("replica_device_setter: ps_tasks is " + std::to_string(count) +
                                     "; give 0 or more parameter servers");
    std::vector<int> tasks;
    for (int t = 0; t < count; ++t) tasks.push_back(t);
    return tasks;
}

inline std::vector<int> ps_tasks_of(const cluster& c, const device_name& ps) {
    if (ps.job.empty())
        throw invalid_argument_error("replica_device_setter: ps_device " + (ps.empty() ? "\"\"" : to_string(ps)) +
                                     " names no job of the cluster");
    return c.tasks(ps.job.str());
}

} // namespace detail

TENON_INLINE void replica_device_setter::take_turns(const std::vector<int>& tasks, const options& o) {
    detail::check_ps_device(o.ps_device);
    if (tasks.empty()) return;
    ps_device_ = o.ps_device;
    worker_device_ = o.worker_device;
    turn_ = std::make_shared<turn>();
    turn_->strategy = o.strategy;
    for (const int t : tasks) turn_->servers.push_back({t, 0});
}

TENON_INLINE replica_device_setter::replica_device_setter(int ps_tasks, const options& o) {
    take_turns(detail::ps_tasks_of(ps_tasks), o);
}

TENON_INLINE replica_device_setter::replica_device_setter(const cluster& c, const options& o) {
    take_turns(detail::ps_tasks_of(c, o.ps_device), o);
}

TENON_INLINE device_name replica_device_setter::operator()(const placed_op& op) const {
    if (!turn_) return {};
    if (!op.holds_resource) return op.follows.empty() || !op.device.empty() ? worker_device_ : device_name();
    device_name ps = ps_device_;
    if (!op.device.job.empty() && op.device.job != ps.job) return ps; // another job's task is no matter of this one
    const std::int64_t elements = op.extents.is_static() ? op.extents.elements() : 0;
    ps.task = turn_->take(elements * static_cast<std::int64_t>(size_of(op.element)), op.device.task);
    return ps;
}

} // namespace tenon
