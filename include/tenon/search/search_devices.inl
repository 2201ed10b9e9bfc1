#pragma once

// A part of search/grid_search.ipp: the threads of its devices: which point each takes, and what they do while their devices are lost.

#include <tenon/search/search_state.inl>

namespace tenon::detail {

// Seconds that a server has to open a session which is only to see whether it is there.
inline constexpr double longest_try = 2;

TENON_INLINE void search_core::state::work(worker& w, const shared_function<void(int, trial&)>& train) {
    try {
        for (int point = 0; take_point(w, point);) train_one(w, point, train);
    } catch (...) {
        const std::lock_guard lock(guard);
        fail(std::current_exception());
    }
    const std::lock_guard lock(guard);
    --working;
    changed.notify_all();
}

// Waits for one; false where there will be none.
TENON_INLINE bool search_core::state::take_point(worker& w, int& point) {
    std::unique_lock lock(guard);
    while (true) {
        if (w.lost && !wait_until_back(w, lock)) return false;
        changed.wait(lock, [&] { return stopping || !left.empty() || running == 0; });
        if (stopping || left.empty()) {
            changed.notify_all();
            return false;
        }
        point = left.front();
        left.pop_front();
        ++running;
        return true;
    }
}

// Why no session of a device can be opened, or what answers does not have it; empty: it is there, as those of this process are.
TENON_INLINE std::string search_core::state::trouble_with(const grid_device& d, double seconds) const {
    if (d.here) return {};
    session_options o = options.session;
    o.device_filters.push_back(task_filter(d.name));
    o.open_timeout = seconds;
    try {
        const tenon::session s(d.target, graph(), o);
        std::string others;
        for (const device_attributes& has : s.list_logical_devices()) {
            if (d.name.allows(has.name)) return {};
            others += (others.empty() ? "" : ", ") + to_string(has.name);
        }
        return "the server at " + d.target + " does not have it, but " + others;
    } catch (const std::exception& e) {
        return e.what();
    }
}

// Tries again and again. False where the search ends before, or no device has been there for too long.
TENON_INLINE bool search_core::state::wait_until_back(worker& w, std::unique_lock<std::mutex>& lock) {
    const auto is_over = [&] { return stopping || (left.empty() && running == 0); };
    const auto all_lost = [&] {
        return std::all_of(workers.begin(), workers.end(), [](const worker& other) { return other.lost; });
    };
    constexpr double longest_pause = 5;
    constexpr auto never = std::chrono::steady_clock::time_point::max();
    auto until = never; // all have been lost since device_timeout before
    for (double pause = 0.05;; pause = std::min(2 * pause, longest_pause)) {
        if (!all_lost()) until = never;
        else if (until == never) until = after(options.device_timeout);
        changed.wait_until(lock, std::min(after(pause), until), is_over);
        if (is_over()) return false;
        if (all_lost() && std::chrono::steady_clock::now() >= until) {
            give_up("no device has been there for " + text_of_number(options.device_timeout) + " s");
            return false;
        }
        const std::chrono::duration<double> rest = until - std::chrono::steady_clock::now();
        const double limit = all_lost() ? std::clamp(rest.count(), 0.05, longest_try) : longest_try;
        lock.unlock();
        std::string trouble = trouble_with(w.device, limit);
        lock.lock();
        if (!trouble.empty()) {
            w.why = std::move(trouble);
            continue;
        }
        w.lost = false;
        for (const std::string& c : std::exchange(w.containers, {})) {
            training there(*this, w.device);
            there.container = c;
            lock.unlock();
            there.forget_container();
            lock.lock();
        }
        lock.unlock();
        tell(to_string(w.device.name) + " is there again, and takes points");
        lock.lock();
        return true;
    }
}

// Under the guard.
TENON_INLINE void search_core::state::give_up(const std::string& why) {
    std::string text = "grid_search: " + options.name + ": " + why + ", and " + std::to_string(left.size()) + " of " +
                       std::to_string(record.points()) +
                       " points are left; what has ended is kept, and run() goes on from there:";
    for (const worker& w : workers) text += "\n  " + to_string(w.device.name) + ": " + w.why;
    fail(std::make_exception_ptr(unavailable_error(text, error_reason::lost_task)));
}

} // namespace tenon::detail
