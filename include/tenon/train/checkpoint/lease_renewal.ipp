#pragma once

#include <chrono>
#include <utility>

#include <tenon/train/checkpoint/lease_renewal.hpp>

namespace tenon::detail {

TENON_INLINE lease_renewal::lease_renewal(double seconds, std::function<void()> again) :
    seconds_(seconds), again_(std::move(again)), thread_([this] { go_on(); }) {}

TENON_INLINE lease_renewal::~lease_renewal() {
    {
        const std::lock_guard lock(guard_);
        ends_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

TENON_INLINE void lease_renewal::go_on() {
    const std::chrono::duration<double> third(seconds_ / 3);
    std::unique_lock lock(guard_);
    while (!changed_.wait_for(lock, third, [&] { return ends_; })) {
        lock.unlock();
        try {
            again_();
        } catch (...) { // what is not claimed again runs out
        }
        lock.lock();
    }
}

} // namespace tenon::detail
