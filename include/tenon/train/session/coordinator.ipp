#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/train/session/coordinator.hpp>

namespace tenon {

struct coordinator::state {
    struct member {
        std::string name;
        bool ended = false; // its body has; it touches nothing of the state any more once the guard is free
        std::thread thread{};
    };

    std::atomic<bool> stop{false};
    mutable std::mutex guard; // of what follows, and of the change of `stop`
    std::condition_variable changed;
    std::exception_ptr first;
    std::list<member> members; // threads keep references

    bool all_ended() const {
        return std::all_of(members.begin(), members.end(), [](const member& m) { return m.ended; });
    }
    std::vector<std::string> running() const {
        std::vector<std::string> names;
        for (const member& m : members)
            if (!m.ended) names.push_back(m.name);
        return names;
    }
    // Joins those that have ended, which takes no time, and forgets them.
    void collect() {
        members.remove_if([](member& m) {
            if (m.ended) m.thread.join();
            return m.ended;
        });
    }
    static std::chrono::nanoseconds duration(double seconds) {
        constexpr double longest = 1e9;
        return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, longest) * 1e9));
    }
    static void require_seconds(double seconds, const char* what) {
        if (!(seconds >= 0))
            throw invalid_argument_error(std::string("coordinator: ") + what + " is " +
                                         detail::text_of_number(seconds) + " s; give a number of seconds, 0 or more");
    }
};

TENON_INLINE coordinator::coordinator() : state_(new state), stop_(&state_->stop) {}
TENON_INLINE coordinator::~coordinator() {
    request_stop();
    for (state::member& m : state_->members) m.thread.join();
}

TENON_INLINE void coordinator::start(const std::string& name, shared_function<void()> body) {
    const std::lock_guard lock(state_->guard);
    state::member& m = state_->members.emplace_back();
    try {
        m.name = name;
        m.thread = std::thread([this, &m, run = std::move(body)]() mutable {
            stop_on_exception([&] { std::exchange(run, {})(); }); // what it holds ends before the thread is said to
            const std::lock_guard ending(state_->guard);
            m.ended = true;
            state_->changed.notify_all();
        });
    } catch (const std::system_error& e) {
        state_->members.pop_back();
        throw resource_exhausted_error("coordinator: no thread for \"" + name + "\": " + e.what());
    } catch (...) {
        state_->members.pop_back();
        throw;
    }
}

TENON_INLINE void coordinator::request_stop(std::exception_ptr why) noexcept {
    bool is_clean = !why;
    if (why) {
        try {
            std::rethrow_exception(why);
        } catch (const end_of_data_error&) {
            is_clean = true;
        } catch (...) {
        }
    }
    const std::lock_guard lock(state_->guard);
    if (state_->stop.exchange(true, std::memory_order_acq_rel)) return;
    if (!is_clean) state_->first = std::move(why);
    state_->changed.notify_all();
}

TENON_INLINE bool coordinator::wait_for_stop(double seconds) const {
    state::require_seconds(seconds, "the time to wait");
    std::unique_lock lock(state_->guard);
    return state_->changed.wait_for(lock, state::duration(seconds), [&] { return should_stop(); });
}

TENON_INLINE bool coordinator::wait_for_stop_or(function_ref<bool()> done) const {
    std::unique_lock lock(state_->guard);
    state_->changed.wait(lock, [&] { return should_stop() || done(); });
    return should_stop();
}

TENON_INLINE void coordinator::join(double grace_period) {
    state::require_seconds(grace_period, "the grace period");
    std::unique_lock lock(state_->guard);
    for (const state::member& m : state_->members)
        if (m.thread.get_id() == std::this_thread::get_id())
            throw failed_precondition_error("coordinator: its own thread \"" + m.name +
                                            "\" called join(), which would wait for it; call it elsewhere");
    const auto ended = [&] { return state_->all_ended(); };
    state_->changed.wait(lock, [&] { return should_stop() || ended(); });
    state_->changed.wait_for(lock, state::duration(grace_period), ended);
    state_->collect();
    if (state_->first) std::rethrow_exception(state_->first);
    if (state_->members.empty()) return;
    std::string names;
    for (const std::string& name : state_->running()) names += (names.empty() ? "\"" : "\", \"") + name;
    throw deadline_exceeded_error("coordinator: a stop was asked for, and after " +
                                  detail::text_of_number(grace_period) + " s these threads still run: " + names +
                                  "\"; let them ask should_stop(), or wait for steps with a time limit");
}

TENON_INLINE std::vector<std::string> coordinator::running() const {
    const std::lock_guard lock(state_->guard);
    return state_->running();
}

TENON_INLINE void coordinator::clear_stop() {
    const std::lock_guard lock(state_->guard);
    if (!state_->all_ended())
        throw failed_precondition_error("coordinator: clear_stop() while \"" + state_->running().front() +
                                        "\" still runs; join() first");
    state_->collect();
    state_->first = nullptr;
    state_->stop.store(false, std::memory_order_release);
}

} // namespace tenon
