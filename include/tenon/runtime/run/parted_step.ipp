#pragma once

#include <utility>

#include <tenon/runtime/run/parted_step.hpp>

namespace tenon::runtime {

TENON_INLINE parted_step::parted_step(staged_plan& first, std::vector<std::unique_ptr<part_step>> others,
                                      std::unique_ptr<step_rendezvous> values) :
    first_part_(first), others_(std::move(others)), values_(std::move(values)) {
    if (!others_.empty()) first_part_.when_late([this] { expire(); });
}

// What the first part begins with.
TENON_INLINE run_environment parted_step::begin(const run_environment& e) {
    values_->begin(e.in->id());
    first_part_.arm();
    for (const auto& p : others_) p->arm();
    in_.pool = e.in->pool;
    in_.take_time_of(*e.in);
    in_.values = values_.get();
    const std::lock_guard lock(guard_);
    running_ = others_.size() + 1;
    first_ = nullptr;
    return {&in_, e.traced, e.measured};
}

TENON_INLINE void parted_step::start_others(const run_environment& e, steps_in_flight& among) {
    for (const auto& p : others_) p->start(e, *values_, among, [this, part = p.get()] { part_ended(part->failure()); });
}

TENON_INLINE void parted_step::run(const any_array* const* feeds, any_array* fetched, const run_environment& e,
                                   steps_in_flight& among) {
    if (others_.empty()) {
        first_part_.run(feeds, fetched, e, among);
        return;
    }
    const run_environment own = begin(e);
    start_others(e, among);
    try {
        first_part_.run(feeds, fetched, own, among);
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
    values_->end();
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
}

TENON_INLINE void parted_step::start(const any_array* const* feeds, const run_environment& e, steps_in_flight& among,
                                     thread_pool& pool, std::function<void()> ended) {
    if (others_.empty()) {
        first_part_.start(feeds, e, among, pool, std::move(ended));
        return;
    }
    const run_environment own = begin(e);
    ended_ = std::move(ended);
    // The last to end may end this object: not before all have begun.
    {
        const std::lock_guard lock(guard_);
        ++running_;
    }
    start_others(e, among);
    first_part_.start(feeds, own, among, pool, [this] { part_ended(first_part_.failure()); });
    part_ended(nullptr);
}

// A part, or the thread that started them all. Where that was the last, nothing here is touched afterwards.
TENON_INLINE void parted_step::part_ended(const std::exception_ptr& why) {
    if (why) fail(why);
    std::function<void()> ended;
    {
        const std::lock_guard lock(guard_);
        if (--running_ == 0) {
            if (ended_) values_->end();
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
    first_part_.stop(why);
    for (const auto& p : others_) p->stop(why);
}

TENON_INLINE void parted_step::take(any_array* fetched) {
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
    first_part_.take(fetched);
}

TENON_INLINE void parted_step::stop(const std::exception_ptr& why) noexcept {
    if (others_.empty()) first_part_.stop(why);
    else fail(why);
}

// The part that waits for something else than the others says what. Of parts elsewhere that is not known: theirs come first, since
// this one waits for them.
TENON_INLINE void parted_step::expire() noexcept {
    if (others_.empty() || first_part_.waits_itself()) {
        first_part_.expire();
        return;
    }
    for (const auto& p : others_)
        if (p->waits_itself()) {
            p->expire();
            return;
        }
    bool any = false;
    for (const auto& p : others_) any = p->expire() || any;
    if (!any) first_part_.expire();
}

TENON_INLINE std::vector<awaited> parted_step::waits() {
    std::vector<awaited> all = first_part_.waits();
    for (const auto& p : others_)
        for (awaited& a : p->waits()) all.push_back(std::move(a));
    return all;
}

TENON_INLINE std::vector<const node*> parted_step::expired() const {
    std::vector<const node*> all = first_part_.expired();
    for (const auto& p : others_) {
        const std::vector<const node*> more = p->expired();
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

} // namespace tenon::runtime
