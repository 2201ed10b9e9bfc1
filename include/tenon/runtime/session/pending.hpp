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

/// A step in flight, from callable::start; F is what it fetches. It goes on whether this object stays or not. Thread-safe.
template <class... F> class pending_step {
public:
    explicit pending_step(std::shared_ptr<detail::pending_state> s) : state_(std::move(s)) {}

    /// Waits for its end; a tuple of the arrays of the tensors it fetches, or what it throws. Its time limit is from when it was
    /// started, and holds whoever waits. Once: failed_precondition_error where the results were taken.
    auto get() const {
        constexpr std::size_t tensors = (std::size_t{detail::is_fetched_tensor<F>} + ... + 0);
        if (!state_) detail::moved_from("pending_step");
        any_array fetched[tensors > 0 ? tensors : 1];
        state_->get(fetched);
        return detail::results_t<F...>::of(fetched);
    }
    /// Waits so many seconds at most; whether it has ended.
    bool wait_for(double seconds) const {
        if (!state_) detail::moved_from("pending_step");
        return state_->wait_for(seconds);
    }
    bool has_ended() const { return wait_for(0); }
    /// Nothing of it is begun any more, what waits is taken back, what it took from queues and has not used is put back, and get()
    /// throws cancelled_error, unless all of it was done before. What has begun to update variables goes on: it ends well, or, where it
    /// waits for something after that, says what it has updated. Returns at once.
    void stop() const {
        if (!state_) detail::moved_from("pending_step");
        state_->stop();
    }

private:
    std::shared_ptr<detail::pending_state> state_;
};

} // namespace tenon
