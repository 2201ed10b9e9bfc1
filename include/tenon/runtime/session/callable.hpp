#pragma once

#include <memory>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/runtime/session/backend.hpp>
#include <tenon/runtime/session/pending.hpp>

/// Steps that run many times: session::callable makes them.

namespace tenon {

namespace detail {
// What is fed as number i: a view, or memory of its own for a number.
template <class X, class A> any_array value_to_feed(const callable_state& c, std::size_t i, const A& value) {
    if constexpr (UntypedTensor<X> && !is_array<A> && !std::is_same_v<A, any_array>)
        return feed_values(c.feeds()[i], value).value;
    else return feed_view<X>(value);
}
} // namespace detail

/// A step that is planned once for each set of sizes and run many times. Returns a tuple of the arrays of the
/// tensors it fetches. Thread-safe.
template <class Feeds, class Fetches> class callable;
template <class... X, class... F> class callable<feed_list<X...>, fetch_list<F...>> {
public:
    explicit callable(std::shared_ptr<detail::callable_state> s) : state_(std::move(s)) {}

    template <class... A> auto operator()(const A&... values) const {
        static_assert(sizeof...(A) == sizeof...(X),
                      "tenon::callable: it takes a value for each tensor in feeds(..), in that order");
        if constexpr (sizeof...(A) != sizeof...(X) || detail::any_ill_shaped<X..., F..., A...>)
            return detail::ill_shaped_results<F...>();
        else if constexpr ((detail::check_feed<X, A>() && ...)) return run(0, values...);
        else return detail::ill_shaped_results<F...>();
    }
    /// The same with a time limit in seconds, 0: the session's. deadline_exceeded_error (SEMANTICS 17).
    template <class... A> auto run_for(double seconds, const A&... values) const {
        static_assert(sizeof...(A) == sizeof...(X), "tenon::callable: after the time limit it takes a value for each "
                                                    "tensor in feeds(..), in that order");
        if constexpr (sizeof...(A) != sizeof...(X) || detail::any_ill_shaped<X..., F..., A...>)
            return detail::ill_shaped_results<F...>();
        else if constexpr ((detail::check_feed<X, A>() && ...)) return run(seconds, values...);
        else return detail::ill_shaped_results<F...>();
    }

    /// Starts it and returns: it runs on the task's threads, and holds none while it waits. The arrays are the step's too until
    /// it has ended, and are not to be written meanwhile; of a view the memory stays so long. It is not traced. Where all that
    /// could go on waits for the caller, as with a pool of one thread, what can run is run first.
    template <class... A> pending_step<F...> start(const A&... values) const { return start_for(0, values...); }
    /// The same with a time limit in seconds, 0: the session's.
    template <class... A> pending_step<F...> start_for(double seconds, const A&... values) const {
        static_assert(sizeof...(A) == sizeof...(X),
                      "tenon::callable: it takes a value for each tensor in feeds(..), in that order");
        if constexpr (sizeof...(A) != sizeof...(X) || detail::any_ill_shaped<X..., F..., A...>)
            return pending_step<F...>(nullptr);
        else if constexpr ((detail::check_feed<X, A>() && ...)) {
            if (!state_) detail::moved_from("callable");
            std::vector<any_array> fed;
            std::size_t i = 0;
            (fed.push_back(detail::value_to_feed<X>(*state_, i++, values)), ...);
            return pending_step<F...>(state_->start(std::move(fed), seconds));
        } else return pending_step<F...>(nullptr);
    }

private:
    template <class... A> auto run(double seconds, const A&... values) const {
        constexpr std::size_t tensors = (std::size_t{detail::is_fetched_tensor<F>} + ... + 0);
        if (!state_) detail::moved_from("callable");
        any_array fetched[tensors > 0 ? tensors : 1];
        if constexpr ((detail::is_array<A> && ...)) {
            const any_array* fed[] = {&values.untyped()..., nullptr};
            state_->run(fed, fetched, seconds);
        } else {
            std::size_t i = 0;
            const any_array held[] = {detail::value_to_feed<X>(*state_, i++, values)...};
            const any_array* fed[sizeof...(A)];
            for (std::size_t k = 0; k < sizeof...(A); ++k) fed[k] = &held[k];
            state_->run(fed, fetched, seconds);
        }
        return detail::results_t<F...>::of(fetched);
    }
    std::shared_ptr<detail::callable_state> state_;
};

/// The same for lists known at run time, from session::callable_untyped. Thread-safe.
class untyped_callable {
public:
    explicit untyped_callable(std::shared_ptr<detail::callable_state> s) : state_(std::move(s)) {}

    /// The arrays of the tensors it fetches, in order. An invalid_argument_error where `values` are not one for each
    /// tensor that is fed, or one does not fit its tensor.
    std::vector<any_array> operator()(const std::vector<any_array>& values) const { return run_for(0, values); }
    /// The same with a time limit in seconds, 0: the session's. deadline_exceeded_error (SEMANTICS 17).
    std::vector<any_array> run_for(double seconds, const std::vector<any_array>& values) const;
    /// Starts it and returns, as callable::start does.
    untyped_pending_step start(const std::vector<any_array>& values) const { return start_for(0, values); }
    untyped_pending_step start_for(double seconds, const std::vector<any_array>& values) const;

private:
    detail::callable_state& fed_with(const std::vector<any_array>& values) const;
    std::shared_ptr<detail::callable_state> state_;
};

} // namespace tenon
