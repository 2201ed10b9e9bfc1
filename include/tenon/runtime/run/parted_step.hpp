#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <tenon/kernel/rendezvous.hpp>
#include <tenon/runtime/run/staged_step.hpp>

/// A step on several tasks, in flight.

namespace tenon::runtime {

/// The parts of one step, each a staged_step on the threads of its own task; the first is the caller's. They meet in the
/// step's rendezvous. The first that fails stops the others, and its error is the step's.
class parted_step {
public:
    struct part {
        staged_plan* plan;
        thread_pool* pool;
    };
    parted_step(const std::vector<part>& parts, std::int64_t edges);
    parted_step(const parted_step&) = delete;
    parted_step& operator=(const parted_step&) = delete;

    // As of a staged_step.
    void run(const any_array* const* feeds, any_array* fetched, const run_environment& e, steps_in_flight& among);
    void start(const any_array* const* feeds, const run_environment& e, steps_in_flight& among, thread_pool& pool,
               std::function<void()> ended);
    void take(any_array* fetched);
    void stop(const std::exception_ptr& why) noexcept;
    void expire() noexcept;
    std::vector<const node*> expired() const;

private:
    void begin();
    void start_others(const run_environment& e, steps_in_flight& among);
    void part_ended(std::size_t k);
    void fail(const std::exception_ptr& why) noexcept;
    run_environment environment_of(std::size_t k, const run_environment& e);

    std::vector<std::unique_ptr<staged_step>> parts_;
    std::vector<thread_pool*> pools_;
    std::vector<std::unique_ptr<tenon::step>> steps_; // what each part begins with
    local_rendezvous values_;
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::size_t running_ = 0;
    std::exception_ptr first_;
    std::function<void()> ended_;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/parted_step.ipp>
#endif
