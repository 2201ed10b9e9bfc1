#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <net/rpc/peer.hpp>
#include <net/rpc/service.hpp>
#include <net/wire/rows.hpp>
#include <net/worker/step_counts.hpp>
#include <tenon/serve/serving_metrics.hpp>

/// What is told by HTTP, as a server knows it.

namespace tenon::net {

/// What a task counts, beside what it says of itself to others.
struct task_totals {
    step_counts::totals steps, parts = {}; ///< of its sessions; of others' steps
    staleness_counts::totals stale = {};   ///< of its sessions
    service::counts called = {};
    peer::counts calling = {};      ///< sums over all tasks
    tenon::memory_info memory = {}; ///< of the host's
    std::size_t steps_in_flight = 0;
};

/// Asked by one thread, which nothing holds up for long.
class http_facts {
public:
    virtual ~http_facts() = default;
    virtual task_row own() = 0;
    virtual task_totals totals() = 0;
    /// Has `then` called once, by any thread, within about a second, also after this has ended: with a row for each task of the cluster,
    /// this one first.
    virtual void ask_all(std::function<void(std::vector<task_row>)> then) = 0;
    /// Empty where it serves and has reached what it needs; else why not.
    virtual std::string why_not_ready() = 0;
    virtual bool is_stopping() = 0;
    /// What the models count that its clients may ask, by their names.
    virtual std::vector<std::pair<std::string, serving_metrics>> served() { return {}; }
};

} // namespace tenon::net
