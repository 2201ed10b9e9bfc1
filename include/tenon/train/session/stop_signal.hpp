#pragma once

#include <csignal>
#include <memory>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/core/shared_function.hpp>

/// Signals that ask a process to stop: of who preempts a job, moves a pod, or presses Ctrl-C. Monitored sessions heed them: should_stop()
/// is true then, and close() saves what there is.
///
///     tn::stop_on_signals();
///     tn::monitored_session sess({.checkpoint = "run/model"});
///     sess.loop([&] { sess.run(train); });
///     sess.close();
///     return tn::stop_signal() ? 128 + tn::stop_signal() : 0;   // who started it knows that it has not come to its end

namespace tenon {

/// From now on these signals are noted rather than end the process. The second SIGTERM or SIGINT ends it. What has been asked for before
/// stays; a signal that is ignored (nohup) stays so. Throws resource_exhausted_error where the system has no pipe.
void stop_on_signals(const std::vector<int>& signals = {SIGTERM, SIGUSR1});
/// The first that came; 0: none.
int stop_signal() noexcept;

namespace detail {

/// While it lives, f(signal) is called once, where one comes or has come: on a thread of its own, or by the constructor.
class stop_listener {
public:
    explicit stop_listener(shared_function<void(int)> f);
    stop_listener(stop_listener&&) = delete;
    /// Returns when f is not being called; not called by it.
    ~stop_listener();

private:
    std::shared_ptr<shared_function<void(int)>> f_;
};

} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/session/stop_signal.ipp>
#endif
