#pragma once

#include <memory>
#include <vector>

#include <tenon/cluster/cluster.hpp>
#include <tenon/core/options.hpp>
#include <tenon/graph/scope.hpp>

/// Where the nodes of a replica go: what holds resources to parameter servers in turn, the rest to the workers.
///
///     const auto placed = tn::on(tn::replica_device_setter(2));
///     const auto a = tn::variable("a", 0.0f);   // /job:ps/task:0
///     const auto b = tn::variable("b", 0.0f);   // /job:ps/task:1
///     const auto sum = a + b;                   // /job:worker

namespace tenon {

/// How a replica_device_setter chooses the task for the next resource.
enum class ps_strategy {
    round_robin,  ///< one after another, in the order in which they are made
    least_loaded, ///< the task that holds the fewest bytes so far; of several, the one of the lowest index
};

namespace detail {
// Constants, since clang 14 would call the compile-time constructor where a member's default is used.
inline constexpr device_name ps_job = "/job:ps", worker_job = "/job:worker";
} // namespace detail

struct replica_device_options {
    device_name ps_device = detail::ps_job;         ///< "/job:ps"
    device_name worker_device = detail::worker_job; ///< "/job:worker"
    ps_strategy strategy = ps_strategy::round_robin;
};

/// A placement function for on(): nodes that hold resources (variables, tables, accumulators) go to the tasks of ps_device
/// in turn, all others to worker_device, but for what helps to update a variable or is a gradient: that runs where the
/// variable or the forward op does (node::follows). Scopes inside it override it; a resource whose task they set takes its turn
/// nonetheless, but not one of another job. Its copies share the turn, and may be asked from several threads.
class replica_device_setter {
public:
    using options = replica_device_options;

    /// Tasks 0 .. ps_tasks - 1; without any it has no effect. Throws invalid_argument_error where the number is negative,
    /// or ps_device sets a task.
    explicit replica_device_setter(int ps_tasks, const options& o = {});
    /// The tasks that the cluster's job has that ps_device names. Throws invalid_argument_error where that names none, or
    /// sets a task, and not_found_error where the cluster has no such job.
    explicit replica_device_setter(const cluster& c, const options& o = {});

    TENON_OTHER_BRACES(explicit replica_device_setter(detail::other_braces_than<cluster, N>&, ...));
    TENON_OTHER_BRACES(explicit replica_device_setter(const cluster&, detail::other_braces_than<options, N>&));
    TENON_OTHER_BRACES(explicit replica_device_setter(int, detail::other_braces_than<options, N>&));

    replica_device_setter(const replica_device_setter&) = default; // and so none that moves, which compilers would list
    replica_device_setter& operator=(const replica_device_setter&) = default;

    device_name operator()(const placed_op& op) const;

private:
    void take_turns(const std::vector<int>& tasks, const options& o);

    struct turn;
    device_name ps_device_, worker_device_;
    std::shared_ptr<turn> turn_; // none: without effect
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/cluster/replica_device_setter.ipp>
#endif
