#pragma once

#include <atomic>

#include <net/transport/transport.hpp>

/// Callbacks into what may end while threads of a transport are on their way to it.

namespace tenon::net {

/// Lets threads in until it is shut; who shuts it waits for those inside. Thread-safe.
class gate {
public:
    explicit gate(transport& t) : transport_(t), waker_(t.shared_waker()) {}
    gate(gate&&) = delete;

    /// f(), unless it is shut. Whoever passes keeps the gate; the transport may end as soon as nobody is inside.
    template <class F> void pass(F&& f) {
        const visit inside(*this);
        if (inside.is_let_in) f();
    }
    /// Returns when nobody is inside any more; not called from there. Works for the transport meanwhile.
    void shut() {
        state_ |= is_shut;
        (void)transport_.work_until([&] { return state_ == is_shut; }, time_point::max());
    }

private:
    static constexpr unsigned is_shut = 1, one_inside = 2;
    struct visit {
        explicit visit(gate& g) : of(g), is_let_in(!(g.state_.fetch_add(one_inside) & is_shut)) {}
        visit(const visit&) = delete;
        ~visit() {
            if (of.state_.fetch_sub(one_inside) == (one_inside | is_shut)) of.waker_->wake();
        }
        gate& of;
        const bool is_let_in;
    };
    transport& transport_;
    const std::shared_ptr<waker> waker_;
    std::atomic<unsigned> state_{0}; // who is inside, and whether it is shut
};

} // namespace tenon::net
