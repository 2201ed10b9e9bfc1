#pragma once

#include <utility>

#include <tenon/resources/rendezvous.hpp>

namespace tenon {

TENON_INLINE void local_rendezvous::send(std::int64_t edge, any_array value) {
    arrival* waiting = nullptr;
    {
        const std::lock_guard lock(guard_);
        slot& m = edges_.at(static_cast<std::size_t>(edge));
        waiting = std::exchange(m.waiting, nullptr);
        if (!waiting) {
            m.value = std::move(value);
            m.sent = true;
        }
    }
    if (!waiting) return;
    waiting->value = std::move(value);
    waiting->arrived();
}

TENON_INLINE void local_rendezvous::receive(std::int64_t edge, arrival& a) {
    {
        const std::lock_guard lock(guard_);
        slot& m = edges_.at(static_cast<std::size_t>(edge));
        if (!m.sent) {
            m.waiting = &a;
            return;
        }
        a.value = std::move(m.value);
    }
    a.arrived();
}

TENON_INLINE bool local_rendezvous::stop(std::int64_t edge, arrival& a) noexcept {
    const std::lock_guard lock(guard_);
    if (static_cast<std::size_t>(edge) >= edges_.size()) return false; // which receive() has refused
    slot& m = edges_[static_cast<std::size_t>(edge)];
    if (m.waiting != &a) return false;
    m.waiting = nullptr;
    return true;
}

TENON_INLINE void local_rendezvous::clear() noexcept {
    const std::lock_guard lock(guard_);
    for (slot& m : edges_) m = slot{};
}

} // namespace tenon
