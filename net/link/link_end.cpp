#include <net/link/link_end.hpp>

#include <utility>

#include <net/wire/frame.hpp>

namespace tenon::net {

namespace {

// But for what further frames of a large one begin with.
std::uint64_t bytes_of(const message& m) noexcept { return sizeof(frame_header) + m.body.size() + m.payload_bytes(); }

} // namespace

void link_end::count_received(const message& m) noexcept { traffic_.received += bytes_of(m); }

void link_end::send_all(lock& held) {
    if (sending_ || !connection_) return;
    sending_ = true;
    const time_point now = transport_.now();
    while (link_ && connection_) {
        std::optional<message> m = link_->next(now);
        if (!m) break;
        const std::shared_ptr<connection> to = connection_;
        traffic_.sent += bytes_of(*m);
        held.unlock();
        to->send(std::move(*m));
        held.lock();
    }
    sending_ = false;
}

void link_end::wake_at(time_point at) {
    if (at >= wakes_at_) return;
    if (wakes_at_ != never) transport_.cancel(timer_);
    wakes_at_ = at;
    timer_ = transport_.call_at(at, [weak = weak_from_this(), which = ++timers_] {
        if (const auto self = weak.lock()) self->woken(which);
    });
}

void link_end::forget_timer() noexcept {
    if (wakes_at_ != never) transport_.cancel(timer_);
    wakes_at_ = never;
    ++timers_;
}

void link_end::woken(std::uint64_t which) {
    {
        const std::lock_guard held(mutex_);
        if (which == timers_) wakes_at_ = never;
    }
    tick();
}

} // namespace tenon::net
