#pragma once

#include <atomic>
#include <memory>

#include <net/transport/transport.hpp>

/// Who still works for a server that is to end.

namespace tenon::net {

/// Counts what runs on threads of a pool. Thread-safe.
class work_counter {
public:
    explicit work_counter(transport& t) : transport_(t), count_(std::make_shared<std::atomic<int>>(0)) {}
    /// One more, as long as what is returned lives.
    std::shared_ptr<void> enter() {
        count_->fetch_add(1, std::memory_order_relaxed);
        // The last may be waited for by who ends this object and the transport.
        return std::shared_ptr<void>(nullptr, [count = count_, to = transport_.shared_waker()](void*) {
            if (count->fetch_sub(1, std::memory_order_acq_rel) == 1) to->wake();
        });
    }
    /// Works for the transport until there are none.
    void wait_until_none() {
        (void)transport_.work_until([&] { return count_->load(std::memory_order_acquire) == 0; }, time_point::max());
    }

private:
    transport& transport_;
    const std::shared_ptr<std::atomic<int>> count_;
};

} // namespace tenon::net
