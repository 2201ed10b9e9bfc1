#pragma once

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/search/grid_search.hpp>
#include <tenon/train/session/stop_signal.hpp>

#include <tenon/search/search_state.inl>
#include <tenon/search/search_devices.inl>
#include <tenon/search/search_training.inl>

namespace tenon {

namespace detail {

inline median_stopping_options medians_of(const grid_search_options& o) {
    median_stopping_options m = o.median.value_or(median_stopping_options{});
    m.smaller_is_better = o.smaller_is_better;
    return m;
}

TENON_INLINE search_core::state::state(std::vector<std::string> points, std::string axes,
                                       std::vector<grid_device> devices, grid_search_options o) :
    options(std::move(o)),
    record(std::move(points), std::move(axes),
           {options.name, options.file, options.seed, options.smaller_is_better, options.retry_failed, options.keep}),
    medians(medians_of(options)) {
    const auto require = [](bool good, const std::string& what) {
        if (!good) throw invalid_argument_error("grid_search: " + what);
    };
    require(!devices.empty(), "there is no device; devices_of(tn::task()) are those of this process");
    require(options.attempts >= 1, "attempts is " + std::to_string(options.attempts) + "; give 1 or more");
    for (const auto& [name, seconds] :
         {std::pair("device_timeout", options.device_timeout), std::pair("stop_grace", options.stop_grace)})
        require(seconds >= 0 && seconds <= 1e9, name + (" is " + text_of_number(seconds)) + "; give seconds");
    for (grid_device& device : devices) {
        require(device.target.empty() == device.here.has_value(),
                "device " + to_string(device.name) + " has " +
                    (device.here ? "a target and a task" : "neither a target nor a task") +
                    "; devices_of() gives what it needs");
        workers.push_back({std::move(device)});
    }
    for (const int point : record.left()) left.push_back(point);
    for (const std::string& remark : record.remarks()) tell(remark);
}

TENON_INLINE void search_core::state::request_stop() noexcept {
    const std::lock_guard lock(guard);
    stopping = true;
    changed.notify_all();
}

TENON_INLINE void search_core::state::run(const shared_function<void(int, trial&)>& train) {
    std::vector<std::string> remarks;
    {
        const std::lock_guard lock(guard);
        if (under_way) throw failed_precondition_error("grid_search: run() while another run() is under way");
        record.begin();
        remarks = record.remarks();
        const std::vector<int> all = record.left();
        left.assign(all.begin(), all.end());
        medians = median_stopping(medians_of(options));
        for (const auto& [point, outcome] : record.ended())
            if (outcome.end == trial_end::done) medians.complete(outcome.history);
        under_way = true;
        stopping = false;
        failure = nullptr;
        trained = 0;
        trained_seconds = 0;
    }
    for (const std::string& remark : remarks) tell(remark);
    {
        const stop_listener on_signal([this](int number) {
            tell("signal " + std::to_string(number) + " asks it to stop");
            request_stop();
        });
        coordinator own;
        start(options.threads ? *options.threads : own, train);
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return working == 0 || stopping; });
        if (!changed.wait_until(lock, after(options.stop_grace), [&] { return working == 0; })) {
            lock.unlock();
            close_sessions();
            lock.lock();
        }
        changed.wait(lock, [&] { return working == 0; });
    }
    const std::lock_guard lock(guard);
    under_way = false;
    record.finish();
    if (failure) std::rethrow_exception(failure);
}

// Of each device one; and where the threads are somebody else's, one that hears of their stop. Those may end after run() has.
TENON_INLINE void search_core::state::start(coordinator& threads, const shared_function<void(int, trial&)>& train) {
    const auto self = shared_from_this();
    try {
        for (worker& w : workers) {
            {
                const std::lock_guard lock(guard);
                ++working;
            }
            try {
                threads.start(options.name + " on " + to_string(w.device.name),
                              [self, &w, train] { self->work(w, train); });
            } catch (...) {
                const std::lock_guard lock(guard);
                --working;
                throw;
            }
        }
        if (options.threads)
            threads.start(options.name + ": until it ends", [self, &threads] {
                const auto has_ended = [&] {
                    const std::lock_guard lock(self->guard);
                    return self->working == 0;
                };
                if (threads.wait_for_stop_or(has_ended)) self->request_stop();
            });
    } catch (...) { // those that were started end first
        const std::lock_guard lock(guard);
        fail(std::current_exception());
    }
}

// Steps that wait are not waited for any more.
TENON_INLINE void search_core::state::close_sessions() {
    std::vector<std::shared_ptr<tenon::session>> open;
    {
        const std::lock_guard lock(guard);
        for (const worker& w : workers)
            if (w.runs && w.runs->open) open.push_back(w.runs->open);
    }
    for (const auto& s : open) try {
            s->close();
        } catch (const std::exception&) { // it is lost
        }
}

TENON_INLINE search_progress search_core::state::progress_now() const {
    search_progress p{.points = record.points()};
    for (const auto& [point, o] : record.ended())
        ++(o.end == trial_end::done ? p.done : o.end == trial_end::stopped ? p.stopped : p.failed);
    p.running = running;
    p.left = static_cast<int>(left.size());
    p.lost = lost_trainings;
    p.devices = static_cast<int>(workers.size());
    for (const worker& w : workers) p.lost_devices += w.lost;
    const std::vector<trial_outcome> all = record.ranked();
    p.best_score = all.empty() ? std::numeric_limits<double>::quiet_NaN() : all.front().score;
    if (!all.empty()) p.best = all.front().text;
    p.seconds_left = std::numeric_limits<double>::quiet_NaN();
    if (trained > 0) {
        const double each = trained_seconds / trained;
        double work = each * p.left;
        for (const worker& w : workers)
            if (w.runs) work += std::max(each - (now() - w.runs->began), 0.0);
        const int at_a_time = std::min(std::max(p.devices - p.lost_devices, 1), std::max(p.left + p.running, 1));
        p.seconds_left = work / at_a_time;
    }
    return p;
}

TENON_INLINE search_core::search_core(std::vector<std::string> points, std::string axes,
                                      std::vector<grid_device> devices, grid_search_options o) :
    state_(std::make_shared<state>(std::move(points), std::move(axes), std::move(devices), std::move(o))) {}
TENON_INLINE search_core::~search_core() = default;
TENON_INLINE void search_core::run(shared_function<void(int, trial&)> train) { state_->run(train); }
TENON_INLINE void search_core::request_stop() noexcept { state_->request_stop(); }
TENON_INLINE std::vector<trial_outcome> search_core::results() const {
    const std::lock_guard lock(state_->guard);
    std::vector<trial_outcome> all;
    for (const auto& [point, o] : state_->record.ended()) all.push_back(o);
    return all;
}
TENON_INLINE std::vector<trial_outcome> search_core::best(int k) const {
    const std::lock_guard lock(state_->guard);
    std::vector<trial_outcome> all = state_->record.ranked();
    if (static_cast<int>(all.size()) > k) all.resize(static_cast<std::size_t>(std::max(k, 0)));
    return all;
}
TENON_INLINE search_progress search_core::progress() const {
    const std::lock_guard lock(state_->guard);
    return state_->progress_now();
}

} // namespace detail

TENON_INLINE std::string search_progress::text() const {
    const int all = done + stopped + failed;
    std::string text = std::to_string(all) + " of " + std::to_string(points) + " done";
    std::string which;
    const auto add = [](std::string& to, int n, const char* what) {
        if (n > 0) to += (to.empty() ? "" : ", ") + std::to_string(n) + " " + what;
    };
    add(which, stopped, "stopped");
    add(which, failed, "failed");
    if (!which.empty()) text += " (" + which + ")";
    add(text, running, "running");
    add(text, left, "left");
    add(text, lost, "lost with their tasks");
    add(text, lost_devices, "devices lost");
    if (!std::isnan(best_score)) text += "; best " + detail::shown_score(best_score) + " by " + best;
    if (all < points && !std::isnan(seconds_left)) {
        const double s = seconds_left;
        const double shown = s < 90 ? s : s < 5400 ? s / 60 : s / 3600;
        text += "; about " + std::to_string(static_cast<long long>(std::ceil(shown))) +
                (s < 90     ? " s"
                 : s < 5400 ? " min"
                            : " h") +
                " left";
    }
    return text;
}

} // namespace tenon
