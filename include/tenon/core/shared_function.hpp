#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <tenon/core/config.hpp>

namespace tenon {

/// A callable that options and scopes keep; copies call the same one. (<functional> would cost each program that
/// includes it more than all of this.)
template <class Signature> class shared_function;
template <class R, class... A> class shared_function<R(A...)> {
public:
    shared_function() = default;
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, shared_function> &&
                 std::is_invocable_r_v<R, std::decay_t<F>&, A...>)
    shared_function(F&& f) :
        // NOLINT: a lambda is one
        called_(std::make_shared<holder<std::decay_t<F>>>(std::forward<F>(f))) {}

    explicit operator bool() const noexcept { return called_ != nullptr; }
    R operator()(A... a) const { return called_->call(std::forward<A>(a)...); }

private:
    struct base {
        virtual ~base() = default;
        virtual R call(A... a) = 0;
    };
    template <class F> struct holder final : base {
        template <class G> explicit holder(G&& g) : f(std::forward<G>(g)) {}
        R call(A... a) override {
            if constexpr (std::is_void_v<R>) static_cast<void>(f(std::forward<A>(a)...));
            else return f(std::forward<A>(a)...);
        }
        F f;
    };
    std::shared_ptr<base> called_;
};

} // namespace tenon
