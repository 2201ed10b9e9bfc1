#pragma once

#include <tenon/runtime/run/step_plan.hpp>

namespace tenon::runtime {

TENON_INLINE std::unique_ptr<staged_step> step_plan::take_step() {
    {
        const std::lock_guard lock(guard_);
        if (!spare_.empty()) {
            std::unique_ptr<staged_step> s = std::move(spare_.back());
            spare_.pop_back();
            return s;
        }
    }
    return std::make_unique<staged_step>(stages_);
}

TENON_INLINE void step_plan::give_step(std::unique_ptr<staged_step> s) noexcept {
    constexpr std::size_t kept = 16; // more steps at a time are seldom, and may be very many
    const std::lock_guard lock(guard_);
    if (spare_.capacity() == 0) {
        try {
            spare_.reserve(kept);
        } catch (...) {
            return;
        }
    }
    if (spare_.size() < kept) spare_.push_back(std::move(s));
}

} // namespace tenon::runtime
