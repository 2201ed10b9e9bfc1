#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/search/grid_devices.hpp>

namespace tenon {

namespace detail {

TENON_INLINE std::string task_filter(const device_name& device) {
    device_name task;
    task.job = device.job;
    task.task = device.task;
    return to_string(task);
}

TENON_INLINE std::vector<device_name> devices_for_networks(const std::vector<device_attributes>& all) {
    std::vector<device_name> chosen;
    for (const device_attributes& d : all) {
        const bool has_gpu = std::any_of(all.begin(), all.end(), [&](const device_attributes& other) {
            return other.name.type == "GPU" && task_filter(other.name) == task_filter(d.name);
        });
        if (d.name.type == (has_gpu ? "GPU" : "CPU")) chosen.push_back(d.name);
    }
    return chosen;
}

} // namespace detail

TENON_INLINE std::vector<grid_device> devices_of(const task& t) {
    std::vector<grid_device> all;
    for (const device_name& d : detail::devices_for_networks(t.list_logical_devices())) all.push_back({d, {}, t});
    return all;
}

TENON_INLINE std::vector<grid_device> devices_of(const std::string& target, const std::vector<std::string>& filters) {
    const session s(target, graph(), session_options{.device_filters = filters});
    std::vector<grid_device> all;
    for (const device_name& d : detail::devices_for_networks(s.list_logical_devices())) all.push_back({d, target, {}});
    return all;
}

TENON_INLINE std::vector<grid_device> devices_of(const cluster& c, const std::vector<std::string>& jobs,
                                                 double timeout) {
    std::vector<grid_device> all;
    for (const std::string& job : jobs.empty() ? c.jobs() : jobs)
        for (const int index : c.tasks(job)) {
            const std::string target = "tenon://" + c.address(job, index);
            device_name own;
            own = device_name("/job:" + job + "/replica:0/task:" + std::to_string(index));
            session_options o{.device_filters = {detail::task_filter(own)}, .open_timeout = timeout};
            const std::size_t before = all.size();
            try {
                const session s(target, graph(), o);
                for (const device_name& d : detail::devices_for_networks(s.list_logical_devices()))
                    if (detail::task_filter(d) == detail::task_filter(own)) all.push_back({d, target, {}});
            } catch (const error& e) {
                if (e.reason() != error_reason::lost_task && e.code() != error_code::not_found) throw;
            }
            if (all.size() == before) all.push_back({own, target, {}}); // it is not there, or another cluster's is
        }
    if (all.empty()) throw invalid_argument_error("devices_of: the cluster has no tasks");
    return all;
}

} // namespace tenon
