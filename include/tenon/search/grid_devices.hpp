#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/cluster/cluster.hpp>
#include <tenon/core/device_name.hpp>
#include <tenon/runtime/session/task.hpp>

/// Where networks are trained one beside another: a network a device (search/grid_search.hpp).
///
///     tn::devices_of(tn::task({.gpus = tn::simulated_gpu(4, 64 << 20)}))   // of this process
///     tn::devices_of("tenon://host:2222")                                  // of all tasks of that server's cluster
///     tn::devices_of(cluster, {"worker"})                                  // the same, each by its own server

namespace tenon {

/// A device, and what opens sessions that use it.
struct grid_device {
    device_name name;           ///< where the nodes of a network are placed; without a type, the task's default device
    std::string target{};       ///< a server, "tenon://host:port"; empty: `here`
    std::optional<task> here{}; ///< a task of this process
};

/// The devices of a task: its GPUs, or where it has none its CPUs.
std::vector<grid_device> devices_of(const task& t);
/// Those of all tasks of the cluster that a server is of, or of the tasks that `filters` names, as session_options::device_filters do. All
/// sessions are opened on that server: when it is lost, so are all. Throws what opening a session throws.
std::vector<grid_device> devices_of(const std::string& target, const std::vector<std::string>& filters = {});
/// Those of all tasks of these jobs, or of all jobs, each by its own server, so that the loss of one is no other's. Of a task that does
/// not answer within `timeout` seconds, or at whose address is a server of another cluster, it is not known what it has: it counts as one
/// device, which a search tries later.
std::vector<grid_device> devices_of(const cluster& c, const std::vector<std::string>& jobs = {}, double timeout = 10);

namespace detail {
/// "/job:worker/task:1", which device_filters take.
std::string task_filter(const device_name& device);
/// Of what a session lists.
std::vector<device_name> devices_for_networks(const std::vector<device_attributes>& all);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/search/grid_devices.ipp>
#endif
