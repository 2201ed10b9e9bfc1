#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <tenon/core/function_ref.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/optimize/optimizers.hpp>
#include <tenon/train/replicated/replica_names.hpp>
#include <tenon/train/replicated/shared_variables.hpp>
#include <tenon/train/session/coordinator.hpp>

/// In-graph replication: one graph and one client, replicas of a model on several devices or tasks, which share its variables
/// (SEMANTICS 40). Where each device is to have copies of them: train/replicated/mirrored.hpp.
///
///     const std::vector<tn::device_name> workers = {"/job:worker/task:0", "/job:worker/task:1"};
///
///     // Synchronous: averaged gradients, one operation that trains.
///     auto gradients = tn::replicate(workers, [&](int i) {
///         return tn::gradient_descent(0.1f).compute_gradients(loss_of(part(i)));
///     }, {.variables = "/job:ps/task:0"});
///     auto train = tn::gradient_descent(0.1f).apply_gradients(tn::average_gradients(gradients));
///
///     // Asynchronous: an operation and a thread a replica.
///     auto stale = tn::replicate(workers, [&](int i) {
///         return tn::staleness(tn::gradient_descent(0.1f).minimize(loss_of(part(i))));
///     }, {.variables = "/job:ps/task:0"});
///     for (const tn::replica_steps& r : tn::run_replicas(sess, stale, 1000)) std::printf("%.2f\n", r.staleness);

namespace tenon {

struct replicate_options {
    /// Where variables are that are given no device; not set: on that of the first replica.
    device_name variables{};
    /// Where they are by a function, as of a replica_device_setter, which is asked for them alone.
    shared_function<device_name(const placed_op&)> place_variables{};
};

namespace detail {

// The calls of one function, one for each replica.
class replica_calls {
public:
    replica_calls(const std::vector<device_name>& devices, replicate_options o);
    replica_calls(replica_calls&&) = delete;
    int replicas() const noexcept { return static_cast<int>(devices_.size()); }

private:
    friend class shared_replica_scope;
    std::vector<device_name> devices_;
    replicate_options options_;
    shared_variables variables_;
};

// What is made while it lives is replica i's.
class shared_replica_scope {
public:
    shared_replica_scope(replica_calls& calls, int i);

private:
    device_scope device_;
    replica_names names_;
    variable_policy_scope variables_;
};

} // namespace detail

/// body(i) for each device i, whose nodes are there. Returns a vector of what the calls return; expressions become nodes. The first
/// replica's variables, those of optimisers too, have the names that they are given. The others, whose nodes are called "replica_i/...",
/// make none: what they make under a name is what the first has made under it, so "w" of all is one variable, and so it is of
/// layers, which may be made inside or outside. Throws invalid_argument_error where there is no device, a name of one is empty, or a
/// replica makes a variable that the first does not make, or of another type, naming both.
template <class Body>
auto replicate(const std::vector<device_name>& devices, Body&& body, const replicate_options& o = {}) {
    static_assert(std::is_invocable_v<Body&, int>,
                  "tenon::replicate: it takes a function of the replica's number: [&](int i) {...}");
    if constexpr (std::is_invocable_v<Body&, int>) {
        detail::replica_calls calls(devices, o);
        const auto call = [&](int i) {
            const detail::shared_replica_scope inside(calls, i);
            const auto once = [&] { return body(i); };
            return detail::result_of(once);
        };
        using result = decltype(call(0));
        if constexpr (std::is_void_v<result>)
            for (int i = 0; i < calls.replicas(); ++i) call(i);
        else {
            std::vector<result> results;
            for (int i = 0; i < calls.replicas(); ++i) results.push_back(call(i));
            return results;
        }
    }
}

/// For each variable the mean of its gradients in all lists, computed where the variable is; with weights, their weighted mean, as of
/// replicas whose parts of a batch have different rows. A gradient that is sparse in all of them stays sparse. Throws
/// invalid_argument_error where there are no lists, their variables differ, naming one, or the weights are not one for each, negative
/// or all 0.
std::vector<gradient_and_variable> average_gradients(const std::vector<std::vector<gradient_and_variable>>& replicas,
                                                     const std::vector<double>& weights = {});

/// What a replica has done.
struct replica_steps {
    std::int64_t steps = 0;
    double staleness = 0; ///< the mean over its steps
};

namespace detail {
std::vector<replica_steps> run_replica_threads(int replicas, std::int64_t steps, function_ref<double(int)> step,
                                               coordinator* threads);
// What a step has said of its staleness.
template <class R> double staleness_said(const R& r) {
    if constexpr (std::is_arithmetic_v<R>) return static_cast<double>(r);
    else return static_cast<double>(r.item());
}
} // namespace detail

/// Runs step(i) so many times for each of so many replicas, each on a thread of its own. What it returns is its staleness: a number, or
/// the value of a tensor of one; or nothing. Returns when all have ended. An end_of_data_error of one ends all; any other
/// exception does too, and is thrown, by the coordinator's join() where one is given: its threads are those of the replicas
/// then, and a stop that it asks for ends them after the step that each has under way.
template <class Step>
std::vector<replica_steps> run_replicas(int replicas, std::int64_t steps, Step&& step, coordinator* threads = nullptr) {
    static_assert(std::is_invocable_v<Step&, int>,
                  "tenon::run_replicas: it takes a function of the replica's number: [&](int i) {...}");
    return detail::run_replica_threads(
        replicas, steps,
        [&](int i) -> double {
            if constexpr (std::is_void_v<decltype(step(i))>) {
                step(i);
                return 0;
            } else return detail::staleness_said(step(i));
        },
        threads);
}
/// The same of what staleness() makes of each replica's training, where the data are in the graph: on a device, or of queues.
std::vector<replica_steps> run_replicas(session& s, const std::vector<tensor<std::int64_t, shape<>>>& stale,
                                        std::int64_t steps, coordinator* threads = nullptr);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/replicated/replicate.ipp>
#endif
