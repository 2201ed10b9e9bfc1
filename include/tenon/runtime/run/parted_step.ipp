#pragma once

#include <utility>

#include <tenon/runtime/run/parted_step.hpp>

namespace tenon::runtime {

TENON_INLINE parted_step::parted_step(const std::vector<part>& parts, std::int64_t edges) : values_(edges) {
    for (const part& p : parts) {
        parts_.push_back(std::make_unique<staged_step>(*p.plan));
        pools_.push_back(p.pool);
        steps_.push_back(std::make_unique<tenon::step>());
    }
    if (parts_.size() > 1) parts_[0]->when_late([this] { expire(); });
}

TENON_INLINE run_environment parted_step::environment_of(std::size_t k, const run_environment& e) {
    tenon::step& s = *steps_[k];
    s.pool = k == 0 ? e.in->pool : pools_[k]->size() > 1 ? pools_[k] : nullptr;
    s.deadline = e.in->deadline;
    s.limit = e.in->limit;
    s.limit_source = e.in->limit_source;
    s.values = &values_;
    return {&s, e.traced, e.measured};
}

TENON_INLINE void parted_step::begin() {
    values_.clear();
    for (const auto& p : parts_) p->arm();
    const std::lock_guard lock(guard_);
    running_ = parts_.size();
    first_ = nullptr;
}

TENON_INLINE void parted_step::start_others(const run_environment& e, steps_in_flight& among) {
    for (std::size_t k = 1; k < parts_.size(); ++k)
        parts_[k]->start(nullptr, environment_of(k, e), among, *pools_[k], [this, k] { part_ended(k); });
}

TENON_INLINE void parted_step::run(const any_array* const* feeds, any_array* fetched, const run_environment& e,
                                   steps_in_flight& among) {
    if (parts_.size() == 1) {
        parts_[0]->run(feeds, fetched, e, among);
        return;
    }
    begin();
    start_others(e, among);
    try {
        parts_[0]->run(feeds, fetched, environment_of(0, e), among);
    } catch (...) {
        fail(std::current_exception());
    }
    std::unique_lock lock(guard_);
    --running_;
    const auto ended = [&] { return running_ == 0; };
    if (!e.limited()) changed_.wait(lock, ended);
    else if (!changed_.wait_until(lock, e.in->deadline, ended)) {
        lock.unlock();
        expire();
        lock.lock();
        changed_.wait(lock, ended);
    }
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
}

TENON_INLINE void parted_step::start(const any_array* const* feeds, const run_environment& e, steps_in_flight& among,
                                     thread_pool& pool, std::function<void()> ended) {
    if (parts_.size() == 1) {
        parts_[0]->start(feeds, e, among, pool, std::move(ended));
        return;
    }
    begin();
    ended_ = std::move(ended);
    // The last to end may end this object: not before all have begun.
    {
        const std::lock_guard lock(guard_);
        ++running_;
    }
    start_others(e, among);
    parts_[0]->start(feeds, environment_of(0, e), among, pool, [this] { part_ended(0); });
    part_ended(parts_.size());
}

// A part, or the thread that started them all. Where that was the last, nothing here is touched afterwards.
TENON_INLINE void parted_step::part_ended(std::size_t k) {
    if (k < parts_.size()) {
        if (const std::exception_ptr why = parts_[k]->failure()) fail(why);
        else if (k > 0) parts_[k]->take(nullptr);
    }
    std::function<void()> ended;
    {
        const std::lock_guard lock(guard_);
        if (--running_ == 0) {
            ended = std::move(ended_);
            changed_.notify_all();
        }
    }
    if (ended) ended();
}

TENON_INLINE void parted_step::fail(const std::exception_ptr& why) noexcept {
    {
        const std::lock_guard lock(guard_);
        if (first_) return;
        first_ = why;
    }
    for (const auto& p : parts_) p->stop(why);
}

TENON_INLINE void parted_step::take(any_array* fetched) {
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
    parts_[0]->take(fetched);
}

TENON_INLINE void parted_step::stop(const std::exception_ptr& why) noexcept {
    if (parts_.size() == 1) parts_[0]->stop(why);
    else fail(why);
}

// The part that waits for something else than the others says what.
TENON_INLINE void parted_step::expire() noexcept {
    for (const auto& p : parts_)
        if (p->waits_itself()) {
            p->expire();
            return;
        }
    for (const auto& p : parts_) p->expire();
}

TENON_INLINE std::vector<const node*> parted_step::expired() const {
    std::vector<const node*> all;
    for (const auto& p : parts_) all.insert(all.end(), p->expired().begin(), p->expired().end());
    return all;
}

} // namespace tenon::runtime
