#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/core/shared_function.hpp>

/// Threads that end together.
///
///     tn::coordinator coord;
///     for (int i = 0; i < 2; ++i)
///         coord.start("worker " + std::to_string(i), [&] {
///             while (!coord.should_stop()) sess.run(train);
///         });
///     while (!coord.wait_for_stop(60)) save();
///     coord.join();       // rethrows what a worker threw first

namespace tenon {

/// Runs threads until one of them, or anybody else, asks for a stop. The first exception asks for one and wins: join()
/// rethrows it; what is thrown after a stop was asked for is a consequence, and forgotten. An end_of_data_error
/// is a clean stop that join() does not throw (SEMANTICS 37). Thread-safe.
class coordinator {
public:
    coordinator();
    /// Asks for a stop and waits for its threads, however long they take.
    ~coordinator();
    coordinator(coordinator&&) = delete;

    /// A thread of this name, for messages, that runs `body` as stop_on_exception does. resource_exhausted_error where the
    /// system gives none.
    void start(const std::string& name, shared_function<void()> body);

    bool should_stop() const noexcept { return stop_->load(std::memory_order_acquire); }
    /// `why`: what join() rethrows, where it is the first.
    void request_stop(std::exception_ptr why = nullptr) noexcept;
    /// Waits so many seconds at most; whether a stop was asked for. What a thread that does something now and then waits
    /// with instead of sleeping.
    bool wait_for_stop(double seconds) const;
    /// Waits until a stop is asked for, or done() is true, which is asked now and whenever one of its threads has ended;
    /// whether a stop was asked for. done() must not call the coordinator.
    bool wait_for_stop_or(function_ref<bool()> done) const;
    /// Runs f(); what it throws asks for a stop. False then.
    template <class F> bool stop_on_exception(F&& f) {
        try {
            static_cast<F&&>(f)();
            return true;
        } catch (...) {
            request_stop(std::current_exception());
            return false;
        }
    }

    /// Waits until all its threads have ended, which may be long; once a stop is asked for, `grace_period` seconds at most.
    /// Then it rethrows the first exception, if there is one; else, where threads still run, it is a
    /// deadline_exceeded_error that names them, and may be called again. From one of its own threads, which it would wait
    /// for, it is a failed_precondition_error.
    void join(double grace_period = 120);
    /// The names of threads that have not ended, in the order of their start.
    std::vector<std::string> running() const;
    /// After a join(): no stop is asked for, and no exception known, as at first. failed_precondition_error where threads
    /// still run.
    void clear_stop();

private:
    struct state;
    std::unique_ptr<state> state_;
    std::atomic<bool>* stop_; // the state's
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/session/coordinator.ipp>
#endif
