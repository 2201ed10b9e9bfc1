#pragma once

#include <mutex>
#include <string>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <tenon/concurrency/stop_source.hpp>
#include <tenon/core/error.hpp>

namespace tenon::detail {

inline std::mutex& guard_of_stop_sources() {
    static auto* const guard = new std::mutex; // threads may end late
    return *guard;
}
inline stop_source*& stop_source_of_thread() noexcept {
    thread_local stop_source* now = nullptr;
    return now;
}

TENON_INLINE stop_source* stop_source::of_thread() noexcept { return stop_source_of_thread(); }

TENON_INLINE stop_source::stop_source() : above_(of_thread()) {
    if (!above_) return;
    const std::lock_guard lock(guard_of_stop_sources());
    above_->below_.push_back(this);
    stopped_ = above_->is_stopped();
}

TENON_INLINE stop_source::~stop_source() {
    const std::lock_guard lock(guard_of_stop_sources());
    if (above_) std::erase(above_->below_, this);
    for (stop_source* const s : below_) s->above_ = nullptr;
    if (descriptor_ >= 0) ::close(descriptor_);
}

TENON_INLINE void stop_source::stop() noexcept {
    const std::lock_guard lock(guard_of_stop_sources());
    stop_below();
}
TENON_INLINE void stop_source::stop_below() noexcept {
    stopped_.store(true, std::memory_order_release);
    if (descriptor_ >= 0) (void)::eventfd_write(descriptor_, 1);
    for (stop_source* const s : below_) s->stop_below();
}

TENON_INLINE int stop_source::descriptor() {
    const std::lock_guard lock(guard_of_stop_sources());
    if (descriptor_ < 0) {
        descriptor_ = ::eventfd(stopped_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (descriptor_ < 0)
            throw resource_exhausted_error("reading a pipe: no descriptor is left to stop it by; close other files or "
                                           "raise the limit (ulimit -n)");
    }
    return descriptor_;
}

TENON_INLINE stop_scope::stop_scope(stop_source& s) noexcept : before_(stop_source_of_thread()) {
    stop_source_of_thread() = &s;
}
TENON_INLINE stop_scope::~stop_scope() { stop_source_of_thread() = before_; }

TENON_INLINE void wait_to_read(int descriptor, const char* path) {
    stop_source* const stop = stop_source::of_thread();
    for (;;) {
        if (stop && stop->is_stopped())
            throw cancelled_error(std::string("'") + path + "': reading was stopped by who went through it");
        pollfd both[] = {{descriptor, POLLIN, 0}, {stop ? stop->descriptor() : -1, POLLIN, 0}};
        if (::poll(both, 2, -1) > 0 && both[0].revents != 0) return;
    }
}

} // namespace tenon::detail
