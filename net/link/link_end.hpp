#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <net/link/link.hpp>

/// What both ends of a link share: a lock, the connection of the moment, and one timer.

namespace tenon::net {

/// The lock guards all of it and what derived classes add. Under it transports are asked for the time and for timers, nothing else;
/// nobody is sent to or called back.
class link_end : public std::enable_shared_from_this<link_end> {
public:
    explicit link_end(transport& t) : transport_(t) {}
    virtual ~link_end() = default;

protected:
    using lock = std::unique_lock<std::mutex>;

    /// Sends what there is to send, in order; by one thread at a time: another one that comes meanwhile leaves it what it has.
    /// Unlocks while it sends.
    void send_all(lock& held);
    /// Has tick() called at this time, or sooner, where it is asked for sooner.
    void wake_at(time_point at);
    void forget_timer() noexcept;
    void count_received(const message& m) noexcept;
    /// The time that wake_at() was last asked for has come. Not locked.
    virtual void tick() = 0;

    transport& transport_;
    mutable std::mutex mutex_;
    std::optional<link> link_;
    std::shared_ptr<connection> connection_; // null but where link_ is connected
    traffic traffic_;                        // of all links that this end has had

private:
    void woken(std::uint64_t which);

    bool sending_ = false;
    time_point wakes_at_ = never;
    std::uint64_t timer_ = 0, timers_ = 0;
};

} // namespace tenon::net
