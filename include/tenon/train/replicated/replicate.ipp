#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/elementwise/add_n.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/train/replicated/replicate.hpp>

namespace tenon {

namespace detail {

// All replicas have the first one's variables.
inline std::string not_of_first(int replica, const std::string& wished, const tensor_type& type,
                                const any_tensor* first) {
    return "replicate: replica " + std::to_string(replica) + " makes a variable \"" + wished + "\" (" +
           to_string(type) + ")" +
           (first ? ", replica 0 one of " + to_string(first->type()) : std::string(", which replica 0 does not make")) +
           "; the function must make the same variables for each replica";
}

TENON_INLINE replica_calls::replica_calls(const std::vector<device_name>& devices, replicate_options o) :
    devices_(devices), options_(std::move(o)), variables_(not_of_first) {
    if (devices_.empty()) throw invalid_argument_error("replicate: there are no devices; name one at least");
    for (std::size_t i = 0; i < devices_.size(); ++i)
        if (devices_[i].empty())
            throw invalid_argument_error("replicate: the name of device " + std::to_string(i) +
                                         " is empty; name each, as \"/gpu:0\"");
    if (!options_.variables.empty() && options_.place_variables)
        throw invalid_argument_error("replicate: variables and place_variables are both given; give one of them");
    if (!options_.place_variables)
        options_.place_variables =
            [at = options_.variables.empty() ? devices_[0] : options_.variables](const placed_op&) { return at; };
}
TENON_INLINE shared_replica_scope::shared_replica_scope(replica_calls& calls, int i) :
    device_([here = calls.devices_[static_cast<std::size_t>(i)],
             variables = calls.options_.place_variables](const placed_op& op) -> device_name {
        // What helps to update a variable, and slots, are where it is; a gradient where its forward op is.
        if (!op.follows.empty()) return op.device.empty() ? device_name() : here;
        return op.holds_resource && std::string_view(op.type) == variable_op::name ? variables(op) : here;
    }),
    names_(i),
    variables_(&calls.variables_) {
    calls.variables_.begin_call();
}

inline std::string shown_variable(const any_tensor& v) {
    return v.node() ? "\"" + v.node()->name + "\"" : std::string("an empty handle");
}

// The mean of one variable's gradients, each of which counts for its part.
inline any_tensor mean_gradient(const std::vector<any_tensor>& gradients, const std::vector<double>& parts,
                                const any_tensor& variable) {
    const auto there = colocate_with(variable);
    std::vector<row_gradient> rows;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const std::optional<row_gradient> own = sparse_rows(gradients[i]);
        if (!own) break;
        rows.push_back({own->indices, own->values * parts[i]});
    }
    if (rows.size() == gradients.size()) return gradient_of_rows(join_rows(rows), variable);
    std::vector<any_tensor> dense;
    for (std::size_t i = 0; i < gradients.size(); ++i) dense.push_back(gradients[i] * parts[i]);
    return untyped::add_n(dense);
}

} // namespace detail

TENON_INLINE std::vector<gradient_and_variable>
average_gradients(const std::vector<std::vector<gradient_and_variable>>& replicas, const std::vector<double>& weights) {
    if (replicas.empty())
        throw invalid_argument_error("average_gradients: there are no gradients; give a list a replica");
    std::vector<double> parts = weights.empty() ? std::vector<double>(replicas.size(), 1) : weights;
    double sum = 0;
    bool good = parts.size() == replicas.size();
    for (const double p : parts) {
        good = good && p >= 0 && p <= 1e300;
        sum += p;
    }
    if (!good || !(sum > 0))
        throw invalid_argument_error("average_gradients: the weights must be one for each of " +
                                     std::to_string(replicas.size()) + " replicas, 0 or more, and not all 0");
    for (double& p : parts) p /= sum;

    std::vector<gradient_and_variable> means;
    for (const gradient_and_variable& first : replicas[0]) {
        std::vector<any_tensor> gradients;
        for (std::size_t i = 0; i < replicas.size(); ++i) {
            const auto its = std::find_if(replicas[i].begin(), replicas[i].end(), [&](const gradient_and_variable& g) {
                return g.variable.node() == first.variable.node();
            });
            if (its == replicas[i].end() || replicas[i].size() != replicas[0].size() || !its->gradient.node())
                throw invalid_argument_error("average_gradients: replica 0 has gradients of " +
                                             std::to_string(replicas[0].size()) + " variables, among them " +
                                             detail::shown_variable(first.variable) + ", replica " + std::to_string(i) +
                                             " of " + std::to_string(replicas[i].size()) +
                                             (its == replicas[i].end() ? ", which it is none of" : "") +
                                             "; give the same variables to compute_gradients for each");
            gradients.push_back(its->gradient);
        }
        means.push_back({detail::mean_gradient(gradients, parts, first.variable), first.variable});
    }
    return means;
}

TENON_INLINE std::vector<replica_steps>
detail::run_replica_threads(int replicas, std::int64_t steps, function_ref<double(int)> step, coordinator* threads) {
    if (replicas < 1)
        throw invalid_argument_error("run_replicas: " + std::to_string(replicas) + " replicas; give 1 or more");
    if (steps < 0) throw invalid_argument_error("run_replicas: " + std::to_string(steps) + " steps; give 0 or more");
    std::vector<replica_steps> done(static_cast<std::size_t>(replicas)); // each is its thread's until that has ended
    std::mutex guard;
    std::condition_variable changed;
    int working = 0; // under the guard
    coordinator own;
    coordinator& on = threads ? *threads : own;
    const auto end = [&] {
        const std::lock_guard lock(guard);
        --working;
        changed.notify_all();
    };
    try {
        for (int i = 0; i < replicas; ++i) {
            {
                const std::lock_guard lock(guard);
                ++working;
            }
            try {
                on.start("replica " + std::to_string(i), [&, i] {
                    replica_steps& mine = done[static_cast<std::size_t>(i)];
                    double sum = 0;
                    on.stop_on_exception([&] {
                        while (mine.steps < steps && !on.should_stop()) {
                            sum += step(i);
                            ++mine.steps;
                        }
                    });
                    if (mine.steps > 0) mine.staleness = sum / static_cast<double>(mine.steps);
                    end();
                });
            } catch (...) {
                end();
                throw;
            }
        }
    } catch (...) {
        on.request_stop(std::current_exception());
    }
    {
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return working == 0; });
    }
    if (!threads) own.join();
    return done;
}

TENON_INLINE std::vector<replica_steps> run_replicas(session& s,
                                                     const std::vector<tensor<std::int64_t, shape<>>>& stale,
                                                     std::int64_t steps, coordinator* threads) {
    using one = callable<feed_list<>, fetch_list<tensor<std::int64_t, shape<>>>>;
    std::vector<one> all;
    for (const auto& t : stale) all.push_back(s.callable(feeds(), fetches(t)));
    return run_replicas(
        static_cast<int>(all.size()), steps,
        [&](int i) { return std::get<0>(all[static_cast<std::size_t>(i)]()).item(); }, threads);
}

} // namespace tenon
