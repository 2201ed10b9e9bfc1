#pragma once

#include <random>

#include <tenon/core/hash.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/ops/random/random_run.hpp>
#include <tenon/resources/resources.hpp>
#include <tenon/simd/philox.hpp>

/// Where a random kernel's numbers come from. For kernels only.

namespace tenon::detail {

/// The key of what bears this name, from the seeds (SEMANTICS 21; ops/random/random.hpp states the rules).
inline std::uint64_t key_of_seeds(std::uint64_t graph_seed, std::uint64_t op_seed, const std::string& name) {
    if (graph_seed == 0 && op_seed == 0) {
        std::random_device system;
        return std::uint64_t{system()} << 32 | system();
    }
    if (op_seed == 0) op_seed = fnv1a(name); // it does not change when the graph grows
    return random_key(graph_seed == 0 ? default_graph_seed : graph_seed, op_seed);
}

/// A node's key and its count of runs.
class random_source {
public:
    random_source(const kernel_setup& s, std::int64_t seed) : random_source(s, seed, s.node.name) {}
    /// With the key of what bears another name.
    random_source(const kernel_setup& s, std::int64_t seed, const std::string& name) :
        key_(key_of_seeds(s.graph_seed, static_cast<std::uint64_t>(seed), name)),
        counter_(s.resources ? s.resources->counters(s.session_container)->of(s.node.name)
                             : std::make_shared<run_counter>()) {}

    std::uint64_t key() const noexcept { return key_; }
    /// The stream of the next run.
    random_stream next() noexcept { return {key_, next_run().number, 0}; }
    run_counter::run next_run() noexcept {
        if (const std::uint64_t* run = random_run_scope::current()) return {*run, *run};
        return counter_->next();
    }

private:
    std::uint64_t key_;
    std::shared_ptr<run_counter> counter_; // its session's, whatever others the task has; where there is none, its own
};

} // namespace tenon::detail
