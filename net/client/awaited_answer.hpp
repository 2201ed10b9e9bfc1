#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include <net/rpc/peer.hpp>

/// The answer to a call, where it outlives who calls.

namespace tenon::net {

/// Shared by those who wait for it and the call, which holds nothing else: who has waited long enough goes, and another may take it
/// later. Thread-safe.
class awaited_answer {
public:
    /// What such a call is to be done with.
    static call_done taker(const std::shared_ptr<awaited_answer>& to, transport& t) {
        return [to, &t](answer a) {
            {
                const std::lock_guard lock(to->guard_);
                to->answer_ = std::move(a);
                to->is_there_ = true;
            }
            t.wake();
        };
    }
    bool is_there() const {
        const std::lock_guard lock(guard_);
        return is_there_;
    }
    /// Works for the transport meanwhile; whether it is there.
    bool wait(transport& t, time_point limit) const {
        return t.work_until([&] { return is_there(); }, limit);
    }
    // Of one that is there.
    void check() const {
        const std::lock_guard lock(guard_);
        answer_.check();
    }
    answer take() {
        const std::lock_guard lock(guard_);
        return std::move(answer_);
    }

private:
    mutable std::mutex guard_; // of what follows
    answer answer_;
    bool is_there_ = false;
};

} // namespace tenon::net
