#pragma once

#include <memory>
#include <vector>

#include <net/worker/exchange.hpp>
#include <tenon/runtime/distributed/task_subgraph.hpp>

/// Another task, as the planner and the steps of a master's session see it.

namespace tenon::net {

/// What a master knows of a session's tasks. Shared by what runs on them.
struct master_tasks {
    std::shared_ptr<session_tasks> tasks; ///< the first is the master's own
    exchange* exchanged = nullptr;        ///< of that; outlives the session
    transport* time = nullptr;
    std::atomic<std::uint64_t> parts{0}; ///< numbers that were given
};

/// Parts of steps on task `number` of the session. Thread-safe.
class remote_worker final : public runtime::remote_task {
public:
    remote_worker(std::shared_ptr<master_tasks> all, int number, const std::vector<device_attributes>& devices);
    const std::vector<device_description>& devices() const override { return devices_; }
    std::unique_ptr<runtime::task_subgraph> plan_subgraph(runtime::program&& part, const runtime::plan_options& o,
                                                          const std::vector<runtime::task_edge>& edges) override;

private:
    const std::shared_ptr<master_tasks> all_;
    const int number_;
    std::vector<device_description> devices_;
};

/// Makes the meetings of the master's own parts.
class master_exchange final : public runtime::step_exchange {
public:
    explicit master_exchange(std::shared_ptr<master_tasks> all) : all_(std::move(all)) {}
    std::unique_ptr<runtime::step_rendezvous> make_rendezvous(const std::vector<runtime::task_edge>& edges) override;

private:
    const std::shared_ptr<master_tasks> all_;
};

} // namespace tenon::net
