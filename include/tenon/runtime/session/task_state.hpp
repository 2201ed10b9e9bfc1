#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/concurrency/deadlines.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/session/options.hpp>

/// What a task holds. For the session and the task alone.

namespace tenon::detail {

/// What of a session its task can ask. The task's guard is held meanwhile.
class task_member {
public:
    /// Gives back memory that is kept only for further steps: false when there is nothing left of it.
    virtual bool give_back_memory() = 0;
    /// Forgets the plans, whose resources are old.
    virtual void forget_plans() = 0;

protected:
    ~task_member() = default;
};

class task_state {
public:
    /// With a pool that outlives it; nullptr: the process's, which has the threads that the first who asked for it wanted.
    /// `maker` is whose options they are, for messages. `time` of its steps, which outlives it; nullptr: the steady clock.
    /// `shared`: what the CPU's memory is taken from; nullptr: each of its devices has the limit that o says.
    task_state(const task_options& o, thread_pool* pool, const char* maker, const time_source* time = nullptr,
               const std::shared_ptr<memory_budget>& shared = nullptr);
    task_state(task_state&&) = delete;

    thread_pool* const pool;
    const time_source* const time;
    std::vector<std::unique_ptr<device>> devices; // /cpu:0 first; they outlive the plans
    deadlines limits; // of its sessions' steps, by the steady clock: with a time of its own it is for who has that

    void enter(task_member& m);
    void leave(task_member& m) noexcept;
    void reset(const std::vector<std::string>& containers);
    /// How often containers were reset. A plan of an earlier epoch uses resources that may be forgotten.
    std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }

private:
    bool give_back_memory();

    std::atomic<std::uint64_t> epoch_{0};
    std::mutex guard_; // of what follows
    std::vector<task_member*> members_;
};

} // namespace tenon::detail
