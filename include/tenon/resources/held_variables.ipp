#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/resources/held_variables.hpp>

namespace tenon {

TENON_INLINE held_variables::held_variables(std::span<const variable_use> uses) :
    uses_(uses), held_(uses.size()), gone_(uses.size()) {
    for (const variable_use& u : uses) guards_.push_back(u.variable->guard_.get());
    std::sort(guards_.begin(), guards_.end(), std::less<>());
    guards_.erase(std::unique(guards_.begin(), guards_.end()), guards_.end());
}

TENON_INLINE void held_variables::lock() noexcept {
    for (variables_guard* g : guards_) g->lock.lock();
}
TENON_INLINE void held_variables::unlock() noexcept {
    held_variables* next = std::exchange(to_be_told_, nullptr);
    for (variables_guard* g : guards_) g->lock.unlock();
    while (next) { // of this object, which may be another thread's where it asks, nothing is touched
        held_variables& told = *next;
        next = std::exchange(told.next_waiting_, nullptr);
        ++told.times_told_;
        told.then_->completed(nullptr); // from here on it may be gone
    }
}
// The caller holds the guards; they are told when these are let go of, in the order in which they came.
TENON_INLINE void held_variables::tell_waiting() noexcept {
    held_variables** last = &to_be_told_;
    while (*last) last = &(*last)->next_waiting_;
    for (variables_guard* g : guards_) {
        held_variables** at = &g->waiting;
        while (held_variables* const w = *at) {
            if (!w->is_over()) {
                at = &w->next_waiting_;
                continue;
            }
            *at = std::exchange(w->next_waiting_, nullptr);
            *last = w;
            last = &w->next_waiting_;
        }
        g->last_waiting = at;
    }
}

// Whether what it waits for, which is what is left, is not so any more.
TENON_INLINE bool held_variables::is_over() const noexcept {
    switch (left_) {
    case left::locks: return !awaited_->locked_;
    case left::reads: return !awaited_->in_place_;
    case left::memory: return awaited_->readers_waiting_ == 0;
    case left::rows: return awaited_->current_->row_readers == 0;
    case left::nothing: break;
    }
    return true;
}

TENON_INLINE void held_variables::enter_waiting(const variable_resource& v, completion& then) noexcept {
    variables_guard& of = *v.guard_;
    awaited_ = &v;
    then_ = &then;
    next_waiting_ = nullptr;
    *of.last_waiting = this;
    of.last_waiting = &next_waiting_;
}
// False where it is told already, or just being.
TENON_INLINE bool held_variables::leave_waiting() noexcept {
    variables_guard& of = *awaited_->guard_;
    for (held_variables** at = &of.waiting; *at; at = &(*at)->next_waiting_)
        if (*at == this) {
            *at = std::exchange(next_waiting_, nullptr);
            if (!*at) of.last_waiting = at;
            return true;
        }
    return false;
}

TENON_INLINE void held_variables::wait_as_reader_no_more() noexcept {
    variable_resource* const v = std::exchange(waited_as_reader_, nullptr);
    if (v && --v->readers_waiting_ == 0) tell_waiting();
}

// Does what can be done now: returns what else has to be waited for, or nullptr when all is held that was asked for.
TENON_INLINE const variable_resource* held_variables::go_on() noexcept {
    if (left_ == left::locks) {
        for (; next_ < uses_.size(); ++next_) {
            if (!uses_[next_].updated) continue;
            variable_resource& v = *uses_[next_].variable;
            if (v.locked_) return &v;
            v.locked_ = held_[next_].locked = true;
        }
        left_ = and_read_ ? left::reads : left::memory;
    }
    // A step that has locked variables may wait here: who writes in place has locked all that it needs.
    if (left_ == left::reads) {
        for (const variable_use& u : uses_)
            if (u.read && u.variable->in_place_) {
                if (waited_as_reader_ == u.variable) return waited_as_reader_;
                wait_as_reader_no_more();
                ++u.variable->readers_waiting_;
                return waited_as_reader_ = u.variable;
            }
        wait_as_reader_no_more();
        for (std::size_t i = 0; i < uses_.size(); ++i)
            if (uses_[i].read) hold(i);
        reading_ = true;
        left_ = updating_ ? left::memory : left::nothing;
    }
    // Those who read rows have waited for one update at most: they go before the next.
    if (left_ == left::memory) {
        for (const variable_use& u : uses_)
            if (u.in_part && u.variable->readers_waiting_ > 0) return u.variable;
        for (std::size_t i = 0; i < uses_.size(); ++i)
            if (uses_[i].updated) choose_memory(i);
        left_ = left::rows;
    }
    if (left_ == left::rows) {
        for (std::size_t i = 0; i < uses_.size(); ++i)
            if (held_[i].in_place && held_[i].current->row_readers > 0) return uses_[i].variable;
        left_ = left::nothing;
    }
    return nullptr;
}

namespace detail {

// A thread that sleeps until it is told.
class sleeping_thread final : public completion {
public:
    void completed(std::exception_ptr) noexcept override {
        const std::lock_guard lock(guard_);
        told_ = true;
        changed_.notify_one();
    }
    bool wait_until(std::chrono::steady_clock::time_point deadline) {
        std::unique_lock lock(guard_);
        const auto told = [&] { return told_; };
        if (deadline != std::chrono::steady_clock::time_point::max()) return changed_.wait_until(lock, deadline, told);
        changed_.wait(lock, told);
        return true;
    }

private:
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    bool told_ = false;
};

} // namespace detail

// For a thread that may wait; the guards are locked before and after, and not while it does.
TENON_INLINE const variable_resource* held_variables::wait_until_held(clock::time_point deadline) {
    constexpr int looks = 40, pauses = 30; // some 20 us, about what sleeping and waking take
    const variable_resource* awaited = go_on();
    for (int look = 0; awaited && look < looks; ++look) { // an update of little is over sooner than a thread sleeps
        unlock();
        for (int i = 0; i < pauses; ++i) detail::pause_briefly();
        lock();
        awaited = go_on();
    }
    for (bool in_time = true; awaited && in_time; awaited = go_on()) {
        detail::sleeping_thread told;
        enter_waiting(*awaited, told);
        unlock();
        in_time = told.wait_until(deadline);
        lock();
        if (in_time || leave_waiting()) continue;
        unlock(); // who has found it tells it at this moment, and must not find it gone
        in_time = told.wait_until(clock::time_point::max());
        lock();
    }
    if (awaited) wait_as_reader_no_more();
    left_ = left::nothing;
    return awaited;
}

TENON_INLINE bool held_variables::ask(const variable_resource* awaited, completion& then) noexcept {
    if (awaited) enter_waiting(*awaited, then);
    return awaited != nullptr;
}

// Who took it out of the list already will tell it.
TENON_INLINE bool held_variables::stop_asking() noexcept {
    const detail::spin_guard locked(awaited_->guard_->lock);
    return leave_waiting();
}

TENON_INLINE void held_variables::hold(std::size_t i) noexcept {
    variable_buffer* const b = held_[i].before = uses_[i].variable->current_;
    ++(uses_[i].by_rows ? b->row_readers : b->readers);
    if (!uses_[i].lent) return;
    held_[i].to_lend = b;
    ++b->readers;
    lending_ = true;
}

TENON_INLINE any_array held_variables::lend(std::size_t i, std::shared_ptr<variable_resource> v) {
    struct loan {
        std::shared_ptr<variable_resource> variable;
        variable_buffer* buffer;
        static void end(void* self, void*) noexcept {
            const std::unique_ptr<loan> l(static_cast<loan*>(self));
            variable_buffer* gone = nullptr;
            {
                const detail::spin_guard locked(l->variable->guard_->lock);
                --l->buffer->readers;
                give_up(*l->variable, l->buffer, gone);
            }
            l->variable->destroy(gone);
        }
    };
    variable_buffer* const b = held_[i].to_lend;
    if (!b || !b->initialized) return {};
    auto l = std::make_unique<loan>(loan{std::move(v), b});
    any_array lent = any_array::adopt(b->value.data(), b->value.element(), b->value.extents(), loan::end, l.get());
    (void)l.release();
    held_[i].to_lend = nullptr;
    return lent;
}

// Of whom one reader less is counted.
TENON_INLINE void held_variables::give_up(variable_resource& v, variable_buffer* b, variable_buffer*& gone) noexcept {
    if (b != v.current_ && b->readers == 0 && b->row_readers == 0) v.retire(b, gone);
}

// Nothing has to be waited for.
TENON_INLINE bool held_variables::nobody_else(bool and_read) const noexcept {
    for (const variable_use& u : uses_) {
        const variable_resource& v = *u.variable;
        if (u.updated ? v.locked_ || (u.in_part && (v.readers_waiting_ > 0 || v.current_->row_readers > 0))
                      : and_read && v.in_place_)
            return false;
    }
    return true;
}

TENON_INLINE const variable_resource* held_variables::read(clock::time_point deadline) {
    lock();
    left_ = left::reads;
    const variable_resource* const awaited = wait_until_held(deadline);
    unlock();
    return awaited;
}

TENON_INLINE bool held_variables::try_read(completion& then) {
    lock();
    left_ = left::reads;
    const bool asks = ask(go_on(), then);
    unlock();
    return !asks;
}

TENON_INLINE void held_variables::give_up_reading(std::size_t i) noexcept {
    variable_buffer* const b = std::exchange(held_[i].before, nullptr);
    --(uses_[i].by_rows ? b->row_readers : b->readers);
    give_up(*uses_[i].variable, b, gone_[i]);
    any_gone_ = any_gone_ || gone_[i];
}

TENON_INLINE void held_variables::destroy_gone() noexcept {
    if (!any_gone_) return;
    for (std::size_t i = 0; i < uses_.size(); ++i) uses_[i].variable->destroy(std::exchange(gone_[i], nullptr));
    any_gone_ = false;
}

TENON_INLINE void held_variables::end_reading_rows() noexcept {
    lock();
    for (std::size_t i = 0; i < uses_.size(); ++i)
        if (held_[i].before && uses_[i].by_rows) give_up_reading(i);
    tell_waiting();
    unlock();
    destroy_gone();
}

// Its own step reads a variable before it updates it, so that one reader is none.
TENON_INLINE void held_variables::choose_memory(std::size_t i) noexcept {
    held& h = held_[i];
    variable_resource& v = *uses_[i].variable;
    h.current = v.current_;
    const bool others = h.current->readers > (h.before == h.current ? 1 : 0);
    const bool rows = h.current->row_readers > 0 || v.readers_waiting_ > 0;
    // The copy of a text may fail half way.
    const bool may_fail = v.type_.element == element_type::string && h.current->initialized;
    h.in_place = !others && !may_fail && !uses_[i].apart && (uses_[i].in_part || !rows);
    v.in_place_ = h.in_place;
    h.after = h.in_place ? h.current : v.take_spare();
}

TENON_INLINE void held_variables::prepare_updates(bool and_read) noexcept {
    bool told = false;
    reading_ = false;
    for (std::size_t i = 0; i < uses_.size(); ++i)
        if (held_[i].before) {
            if (uses_[i].read_late) {
                reading_ = true;
                continue;
            }
            told = told || uses_[i].by_rows;
            give_up_reading(i);
        }
    if (told) tell_waiting();
    updating_ = true;
    if (!nobody_else(and_read)) {
        left_ = left::locks;
        next_ = 0;
        and_read_ = and_read;
        return;
    }
    for (std::size_t i = 0; i < uses_.size(); ++i) {
        if (and_read && uses_[i].read) hold(i);
        if (!uses_[i].updated) continue;
        uses_[i].variable->locked_ = held_[i].locked = true;
        choose_memory(i);
    }
    reading_ = reading_ || and_read;
}

TENON_INLINE const variable_resource* held_variables::begin_updates(clock::time_point deadline, bool and_read) {
    lock();
    prepare_updates(and_read);
    const variable_resource* const awaited = left_ == left::nothing ? nullptr : wait_until_held(deadline);
    unlock();
    destroy_gone();
    if (awaited) end_updates();
    else make_memory();
    return awaited;
}

TENON_INLINE bool held_variables::try_begin_updates(completion& then, bool and_read) {
    lock();
    if (left_ == left::nothing) prepare_updates(and_read);
    const bool asks = ask(go_on(), then);
    unlock();
    if (asks) return false; // from here on it may be another thread's: what is gone is given back later
    destroy_gone();
    make_memory();
    return true;
}

// Where there is no spare one.
TENON_INLINE void held_variables::make_memory() {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
        if (!held_[i].locked || held_[i].after) continue;
        const variable_resource& v = *uses_[i].variable;
        try {
            held_[i].after = v.make_buffer();
        } catch (const resource_exhausted_error& e) {
            end_updates();
            throw resource_exhausted_error("no memory for the new value of variable \"" + v.name + "\", " +
                                           to_string(v.type()) +
                                           ", beside the one that another step reads: " + e.what() +
                                           "\nrun fewer steps at a time, or let the device have more memory");
        }
    }
}

TENON_INLINE void held_variables::unlock_variables() noexcept {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
        held& h = held_[i];
        if (!h.locked) continue;
        variable_resource& v = *uses_[i].variable;
        variable_buffer* unused = nullptr;
        if (h.written) {
            ++v.updates_;
            h.after->initialized = true;
            if (!h.in_place) {
                unused = std::exchange(v.current_, h.after);
                if (unused->readers > 0 || unused->row_readers > 0) unused = nullptr; // its last reader retires it
            }
        } else if (!h.in_place) unused = h.after;
        if (unused) {
            v.retire(unused, gone_[i]);
            any_gone_ = any_gone_ || gone_[i];
        }
        if (h.in_place) v.in_place_ = false;
        v.locked_ = false;
        h.current = h.after = nullptr;
        h.locked = h.in_place = h.written = false;
    }
    updating_ = false;
}

TENON_INLINE void held_variables::end_updates() noexcept {
    if (!updating_) return;
    lock();
    unlock_variables();
    tell_waiting();
    unlock();
    destroy_gone();
}

TENON_INLINE void held_variables::end() noexcept {
    if (!reading_ && !updating_ && !lending_ && left_ == left::nothing) return;
    lock();
    wait_as_reader_no_more();
    left_ = left::nothing;
    if (updating_) unlock_variables();
    for (std::size_t i = 0; i < uses_.size(); ++i) {
        if (held_[i].before) give_up_reading(i);
        if (variable_buffer* const b = std::exchange(held_[i].to_lend, nullptr)) {
            --b->readers;
            give_up(*uses_[i].variable, b, gone_[i]);
            any_gone_ = any_gone_ || gone_[i];
        }
    }
    reading_ = lending_ = false;
    tell_waiting();
    unlock();
    destroy_gone();
}

} // namespace tenon
