#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <tenon/concurrency/deadlines.hpp>
#include <tenon/concurrency/fork_count.hpp>
#include <tenon/core/error.hpp>

namespace tenon {

struct deadlines::state {
    std::mutex guard; // of what follows
    std::condition_variable changed, told;
    std::set<std::pair<clock::time_point, entry*>> entries;
    clock::time_point wakes = clock::time_point::max(); // what the thread sleeps until
    entry* telling = nullptr;
    bool ending = false;
    std::thread thread;
    int forks = 0; // when it was begun

    // Where it was begun in a process from which this one was forked, it is not here.
    bool has_thread() {
        if (thread.joinable() && forks != detail::fork_count()) thread.detach();
        return thread.joinable();
    }
    void run() {
        std::unique_lock lock(guard);
        while (!ending) {
            wakes = entries.empty() ? clock::time_point::max() : entries.begin()->first;
            if (entries.empty()) {
                changed.wait(lock);
                continue;
            }
            if (const clock::time_point next = wakes; clock::now() < next) {
                changed.wait_until(lock, next);
                continue;
            }
            entry* const e = telling = entries.begin()->second;
            e->listed_ = false;
            entries.erase(entries.begin());
            lock.unlock();
            e->due();
            lock.lock();
            telling = nullptr; // it may be gone
            told.notify_all();
        }
    }
    bool on_thread() const noexcept { return std::this_thread::get_id() == thread.get_id(); }
};

TENON_INLINE deadlines::deadlines() : state_(std::make_shared<state>()) {}

// The last that uses it may be what it tells.
TENON_INLINE deadlines::~deadlines() {
    bool within = false;
    {
        const std::lock_guard lock(state_->guard);
        state_->ending = true;
        within = state_->on_thread();
    }
    state_->changed.notify_all();
    if (!state_->has_thread()) return;
    if (within) state_->thread.detach();
    else state_->thread.join();
}

TENON_INLINE void deadlines::add(entry& e, clock::time_point at) {
    const std::lock_guard lock(state_->guard);
    try {
        if (!state_->has_thread()) {
            state_->thread = std::thread([s = state_] { s->run(); });
            state_->forks = detail::fork_count();
        }
        e.at_ = at;
        state_->entries.emplace(at, &e);
        e.listed_ = true;
    } catch (const std::system_error& none) {
        throw resource_exhausted_error(std::string("no thread can be had that waits for time limits: ") + none.what());
    }
    if (at < state_->wakes) state_->changed.notify_one();
}

TENON_INLINE void deadlines::remove(entry& e) noexcept {
    std::unique_lock lock(state_->guard);
    if (std::exchange(e.listed_, false)) {
        state_->entries.erase({e.at_, &e});
        return;
    }
    if (!state_->on_thread()) state_->told.wait(lock, [&] { return state_->telling != &e; });
}

} // namespace tenon
