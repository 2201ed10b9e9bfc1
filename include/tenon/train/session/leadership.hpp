#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/ops/state/lease.hpp>
#include <tenon/resources/lease.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/checkpoint/lease_renewal.hpp>

/// Which of those that train together is the chief: who holds a lease on the task of their first variable.

namespace tenon::detail {

struct leadership_options {
    std::string name;        ///< of the lease, the same for all of them
    bool leads_first = true; ///< claims it from the beginning; else when it had been another's, who is gone
    double seconds = 0;      ///< of the lease
    shared_function<void(const std::string& line)> log{};
};

/// One of them. While it is with a session a thread of its own claims the lease again, or asks who has it.
class leadership {
public:
    /// Makes its nodes in the current graph, which has this variable.
    leadership(leadership_options o, const any_tensor& first_variable);
    ~leadership() { leave(); }
    leadership(leadership&&) = delete;

    /// From now on it is with this session, which lives until leave(). Claims once, and throws what that throws.
    void join(session& s);
    /// Of its own accord nothing runs in the session any more; a lease that it has goes on until its time has passed.
    void leave() noexcept;
    /// Gives the lease back, so that another has it at once.
    void give_back() noexcept;

    /// It has the lease, by its own clock, which began before the lease's.
    bool leads() const;
    /// Claims now, where it may. Throws what the session throws.
    bool claim(session& s);
    /// "process 12 on host7 (5f02c3aa), term 3", or "nobody".
    std::string chief() const;

private:
    bool claim_within(session& s, double limit);
    void ask(session& s, double seconds, double limit);

    const leadership_options options_;
    const std::string own_name_;
    any_tensor holder_in_, seconds_in_, known_in_;
    std::vector<any_tensor> standing_;

    mutable std::mutex guard_; // of what follows
    lease::standing known_;
    lease::time_point until_{}; // it leads
    lease::time_point
        forgotten_{}; // since then the lease's task, which has begun anew, knows of none of its holders; {}: it does
    bool led_last_ = false; // of all that this one has heard of
    session* with_ = nullptr;
    std::optional<lease_renewal> claims_; // of who joins and leaves
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/train/session/leadership.ipp>
#endif
