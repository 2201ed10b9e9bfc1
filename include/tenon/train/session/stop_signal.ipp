#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/train/session/stop_signal.hpp>

namespace tenon {

namespace detail {

// Lives for ever: a signal may come at any time.
struct stop_signals {
    using listener = std::shared_ptr<shared_function<void(int)>>;

    std::atomic<int> came{0}; // the first; what handlers write
    int pipe[2] = {-1, -1};   // written once, before the first handler; handlers wake the thread by it

    std::mutex guard; // of what follows
    std::condition_variable changed;
    std::vector<listener> listeners;
    std::thread::id calling; // the thread, while it calls

    static stop_signals& get() {
        static auto& s = *new stop_signals;
        return s;
    }

    // A thread of its own: waits for the first signal, and has all know it.
    void watch() {
        char byte = 0;
        while (::read(pipe[0], &byte, 1) < 0 && errno == EINTR) {
        }
        for (;;) {
            listener next;
            {
                const std::lock_guard lock(guard);
                if (listeners.empty()) break;
                next = std::move(listeners.back());
                listeners.pop_back();
                calling = std::this_thread::get_id();
            }
            (*next)(came);
            const std::lock_guard lock(guard);
            calling = {};
            changed.notify_all();
        }
    }
};

extern "C" inline void tenon_note_stop_signal(int number) {
    const int kept = errno;
    stop_signals& all = stop_signals::get(); // made before the first handler is set
    int none = 0;
    if (all.came.compare_exchange_strong(none, number)) {
        const char byte = 0;
        [[maybe_unused]] const auto wrote = ::write(all.pipe[1], &byte, 1);
    }
    // Once more, and it ends the process; SIGUSR1 is said again by who says it.
    if (number == SIGTERM || number == SIGINT) std::signal(number, SIG_DFL);
    errno = kept;
}

TENON_INLINE stop_listener::stop_listener(shared_function<void(int)> f) {
    stop_signals& all = stop_signals::get();
    {
        const std::lock_guard lock(all.guard);
        if (all.came == 0) {
            f_ = std::make_shared<shared_function<void(int)>>(std::move(f));
            all.listeners.push_back(f_);
            return;
        }
    }
    f(all.came);
}

TENON_INLINE stop_listener::~stop_listener() {
    if (!f_) return;
    stop_signals& all = stop_signals::get();
    std::unique_lock lock(all.guard);
    const auto at = std::find(all.listeners.begin(), all.listeners.end(), f_);
    if (at != all.listeners.end()) all.listeners.erase(at);
    else all.changed.wait(lock, [&] { return all.calling == std::thread::id(); });
}

} // namespace detail

TENON_INLINE void stop_on_signals(const std::vector<int>& signals) {
    detail::stop_signals& all = detail::stop_signals::get();
    {
        const std::lock_guard lock(all.guard);
        if (all.pipe[0] < 0) {
            if (::pipe(all.pipe) != 0)
                throw resource_exhausted_error("stop_on_signals: the system has no pipe for this process (ulimit -n)");
            for (const int end : all.pipe) ::fcntl(end, F_SETFD, FD_CLOEXEC);
            std::thread([&all] { all.watch(); }).detach();
        }
    }
    for (const int number : signals) {
        struct sigaction before {
        }, action{};
        if (::sigaction(number, nullptr, &before) != 0)
            throw invalid_argument_error("stop_on_signals: " + std::to_string(number) + " is no signal");
        if (before.sa_handler == SIG_IGN) continue;
        action.sa_handler = detail::tenon_note_stop_signal;
        action.sa_flags = SA_RESTART;
        if (::sigaction(number, &action, nullptr) != 0)
            throw invalid_argument_error("stop_on_signals: signal " + std::to_string(number) + " cannot be noted");
    }
}

TENON_INLINE int stop_signal() noexcept { return detail::stop_signals::get().came; }

} // namespace tenon
