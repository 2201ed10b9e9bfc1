#pragma once

#include <memory>
#include <vector>

#include <tenon/runtime/session/backend.hpp>

/// Steps that were started, and run on the task's threads.
///
///     auto next = sess.callable(tn::feeds(), tn::fetches(q.dequeue()));
///     auto first = next.start(), second = next.start();      // both wait, and no thread does
///     auto [x] = first.get();
///     second.stop();                                         // the queue is as if it had not come

namespace tenon {

namespace detail {
/// What every step in flight has, whatever it fetches.
class started_step {
public:
    explicit started_step(std::shared_ptr<pending_state> s) : state_(std::move(s)) {}

    /// Waits so many seconds at most; whether it has ended.
    bool wait_for(double seconds) const { return live().wait_for(seconds); }
    bool has_ended() const { return wait_for(0); }
    /// Nothing of it is begun any more, what waits is taken back, what it took from queues and has not used is put back, and get()
    /// throws cancelled_error, unless all of it was done before. What has begun to update variables goes on: it ends well, or, where it
    /// waits for something after that, says what it has updated. Returns at once.
    void stop() const { live().stop(); }

protected:
    pending_state& live() const {
        if (!state_) moved_from("pending_step");
        return *state_;
    }

private:
    std::shared_ptr<pending_state> state_;
};
} // namespace detail

/// A step in flight, from callable::start; F is what it fetches. It goes on whether this object stays or not. Thread-safe.
template <class... F> class pending_step : public detail::started_step {
public:
    using started_step::started_step;

    /// Waits for its end; a tuple of the arrays of the tensors it fetches, or what it throws. Its time limit is from when it was
    /// started, and holds whoever waits. Once: failed_precondition_error where the results were taken.
    auto get() const {
        constexpr std::size_t tensors = (std::size_t{detail::is_fetched_tensor<F>} + ... + 0);
        any_array fetched[tensors > 0 ? tensors : 1];
        live().get(fetched);
        return detail::results_t<F...>::of(fetched);
    }
};

/// The same of lists known at run time, from untyped_callable::start.
class untyped_pending_step : public detail::started_step {
public:
    untyped_pending_step(std::shared_ptr<detail::pending_state> s, std::size_t fetches) :
        started_step(std::move(s)), fetches_(fetches) {}

    /// The arrays of the tensors it fetches, in order.
    std::vector<any_array> get() const {
        std::vector<any_array> fetched(fetches_);
        live().get(fetched.data());
        return fetched;
    }

private:
    std::size_t fetches_;
};

} // namespace tenon
