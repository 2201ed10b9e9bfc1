#pragma once

#include <tenon/runtime/run/segment.hpp>

namespace tenon::runtime {

// One by one: a list of many is not to end as deep in calls.
TENON_INLINE segment::~segment() {
    delete spare_.load();
    while (spares_) spares_ = std::move(spares_->next_idle);
}

TENON_INLINE bool segment::share(std::shared_ptr<shared_arenas> with) {
    if (executable_.has_streams()) return false;
    for (std::size_t d = 0; d < executable_.devices.size(); ++d)
        with->need(d, executable_.scheduled.memory.devices[d].arena_bytes);
    shared_ = std::move(with);
    return true;
}

TENON_INLINE std::unique_ptr<executor> segment::take() {
    std::unique_ptr<executor> e(spare_.exchange(nullptr, std::memory_order_acquire));
    if (!e) {
        const std::lock_guard lock(guard_);
        e = std::move(spares_);
        if (e) spares_ = std::move(e->next_idle);
    }
    if (!e) {
        e = std::make_unique<executor>(executable_, shared_.get());
        executors_.fetch_add(1, std::memory_order_relaxed);
        return e;
    }
    try {
        e->memory().take_arenas();
    } catch (...) {
        give(std::move(e));
        throw;
    }
    return e;
}

TENON_INLINE void segment::give(std::unique_ptr<executor> e) noexcept {
    e->memory().give_arenas();
    executor* none = nullptr;
    if (spare_.compare_exchange_strong(none, e.get(), std::memory_order_release, std::memory_order_relaxed)) {
        (void)e.release();
        return;
    }
    const std::lock_guard lock(guard_);
    e->next_idle = std::move(spares_);
    spares_ = std::move(e);
}

TENON_INLINE std::vector<std::string> segment::order() const {
    std::vector<std::string> lines;
    lines.reserve(executable_.size());
    for (std::size_t s = 0; s < executable_.size(); ++s) {
        const std::string &name = executable_.operations[s].origin->name, op = executable_.op_of(s);
        std::string& text = lines.emplace_back();
        text.reserve(name.size() + op.size() + 3);
        text.append(name).append(" (").append(op).append(")");
    }
    return lines;
}

} // namespace tenon::runtime
