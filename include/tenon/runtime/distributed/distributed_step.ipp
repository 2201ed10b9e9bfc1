#pragma once

#include <new>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/runtime/distributed/distributed_step.hpp>

namespace tenon::runtime {

TENON_INLINE distributed_step::distributed_step(subgraph& first, std::vector<std::unique_ptr<task_run>> others,
                                                std::unique_ptr<step_rendezvous> values, std::string changes) :
    first_run_(first), others_(std::move(others)), values_(std::move(values)), changes_(std::move(changes)) {}

// What the first subgraph begins with.
TENON_INLINE run_environment distributed_step::begin(const run_environment& e) {
    values_->begin(e.in->id());
    first_run_.arm();
    for (const auto& p : others_) p->arm();
    in_.pool = e.in->pool;
    in_.take_ends_of(*e.in);
    in_.values = values_.get();
    const std::lock_guard lock(guard_);
    running_ = others_.size() + 1;
    first_ = nullptr;
    return {&in_, e.traced, e.measured, nullptr, e.traced ? e.in->id() : 0};
}

// One that cannot be started has ended: others may have begun, and who waits for all is told by each.
TENON_INLINE void distributed_step::start_others(const run_environment& e, steps_in_flight& among) {
    for (const auto& p : others_) {
        try {
            p->start(e, *values_, among, [this, subgraph = p.get()] { subgraph_ended(subgraph->failure()); });
        } catch (...) {
            subgraph_ended(std::current_exception());
        }
    }
}

TENON_INLINE void distributed_step::run(const any_array* const* feeds, any_array* fetched, const run_environment& e,
                                        steps_in_flight& among) {
    if (others_.empty()) {
        first_run_.run(feeds, e, among);
        take(fetched);
        return;
    }
    const run_environment own = begin(e);
    start_others(e, among);
    try {
        first_run_.run(feeds, own, among);
        if (const std::exception_ptr why = first_run_.failure()) fail(why);
    } catch (...) {
        fail(std::current_exception());
    }
    {
        std::unique_lock lock(guard_);
        --running_;
        changed_.wait(lock, [&] { return running_ == 0; });
    }
    values_->end();
    take(fetched);
}

TENON_INLINE void distributed_step::start(const any_array* const* feeds, const run_environment& e,
                                          steps_in_flight& among, thread_pool& pool, std::function<void()> ended) {
    if (others_.empty()) {
        first_run_.start(feeds, e, among, pool, std::move(ended));
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
    try {
        first_run_.start(feeds, own, among, pool, [this] { subgraph_ended(first_run_.failure()); });
    } catch (...) {
        subgraph_ended(std::current_exception());
    }
    subgraph_ended(nullptr);
}

// A subgraph, or the thread that started them all. Where that was the last, nothing here is touched afterwards.
TENON_INLINE void distributed_step::subgraph_ended(std::exception_ptr why) {
    if (why) fail(why);
    why = nullptr; // is whose step it is
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

TENON_INLINE void distributed_step::fail(const std::exception_ptr& why) noexcept {
    {
        const std::lock_guard lock(guard_);
        if (first_ || running_ == 0) return; // all have ended: it is what it is
        first_ = why;
    }
    first_run_.stop(why);
    for (const auto& p : others_) p->stop(why);
}

TENON_INLINE void distributed_step::take(any_array* fetched) {
    settle(first_ || first_run_.failure());
    if (!first_) {
        first_run_.take(fetched);
        return;
    }
    first_run_.forget();
    rethrow_first();
}

// What a subgraph took and sent to others is used where one of them has changed something, or may have.
TENON_INLINE void distributed_step::settle(bool failed) noexcept {
    const auto has_changed = [failed](const task_run& p) -> std::size_t {
        if (!failed) return 0; // nobody asks
        try {
            const run_end e = p.end();
            return !e.changed.empty() || !e.unknown.empty();
        } catch (...) { // no memory for words
            return 1;
        }
    };
    const std::size_t first = first_run_.has_changed();
    std::size_t all = first; // subgraphs that have
    for (const auto& p : others_) all += has_changed(*p);
    for (const auto& p : others_) p->settle(failed, all > has_changed(*p));
    first_run_.settle(failed, all > first);
}

// Its error says what it left behind: no task can take back what its subgraph has done.
TENON_INLINE void distributed_step::rethrow_first() {
    const std::exception_ptr first = [&] { // who stops it late looks at it
        const std::lock_guard lock(guard_);
        return std::exchange(first_, nullptr);
    }();
    const std::string more = what_became(first);
    if (more.empty()) std::rethrow_exception(first);
    try {
        std::rethrow_exception(first);
    } catch (const error& e) {
        throw_error(e, e.what() + more);
    } catch (const std::bad_alloc&) {
        throw resource_exhausted_error("there was no memory for the step" + more);
    }
}

TENON_INLINE std::string distributed_step::what_became(const std::exception_ptr& first) const {
    std::string silent, changed, in_part, unknown;
    const auto add = [](std::string& to, const std::string& task) {
        if (!task.empty()) to += (to.empty() ? "" : ", ") + task;
    };
    if (first_run_.has_changed()) add(first_run_.changed_in_part() ? in_part : changed, changes_);
    for (const auto& p : others_) {
        const run_end e = p->end();
        if (!e.silent.empty() && p->failure() != first) silent += "; " + e.silent;
        add(e.in_part ? in_part : changed, e.changed);
        add(unknown, e.unknown);
    }
    std::string text = silent;
    if (!changed.empty()) text += "; the step was applied on " + changed;
    if (!in_part.empty()) text += (changed.empty() ? "; the step was applied in part on " : ", in part on ") + in_part;
    if (!unknown.empty())
        text +=
            (changed.empty() && in_part.empty() ? "; whether the step was applied on " : ", and whether it was on ") +
            unknown + " is not known";
    return text;
}

TENON_INLINE void distributed_step::stop(const std::exception_ptr& why) noexcept {
    if (others_.empty()) first_run_.stop(why);
    else fail(why);
}

// The subgraph that waits for something else than the others says what. Of subgraphs elsewhere that is not known: theirs come first, since
// this one waits for them.
TENON_INLINE void distributed_step::expire() noexcept {
    if (others_.empty() || first_run_.waits_itself()) {
        first_run_.expire();
        return;
    }
    for (const auto& p : others_)
        if (p->waits_itself()) {
            p->expire();
            return;
        }
    bool any = false;
    for (const auto& p : others_) any = p->expire() || any;
    if (any) first_run_.expire_later();
    else first_run_.expire();
}

TENON_INLINE std::vector<awaited> distributed_step::waits() {
    std::vector<awaited> all = first_run_.waits();
    for (const auto& p : others_)
        for (awaited& a : p->waits()) all.push_back(std::move(a));
    return all;
}

TENON_INLINE std::vector<const node*> distributed_step::expired() const {
    std::vector<const node*> all = first_run_.expired();
    for (const auto& p : others_) {
        const std::vector<const node*> more = p->expired();
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

} // namespace tenon::runtime
