#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// While it lives a thread of its own calls a function that claims a lease again, each third of the lease's time. What that throws is
/// forgotten: what is done next by the lease says what is wrong.
class lease_renewal {
public:
    lease_renewal(double seconds, std::function<void()> again);
    lease_renewal(lease_renewal&&) = delete;
    ~lease_renewal(); ///< waits for a call under way

private:
    void go_on();

    const double seconds_;
    const std::function<void()> again_;
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    bool ends_ = false;
    std::thread thread_; // begins last
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/train/checkpoint/lease_renewal.ipp>
#endif
