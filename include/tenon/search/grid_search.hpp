#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/search/grid.hpp>
#include <tenon/search/grid_devices.hpp>
#include <tenon/search/trial.hpp>
#include <tenon/train/session/coordinator.hpp>
#include <tenon/train/session/session_hook.hpp>

/// A grid of hyperparameters over all devices: a network a device at a time, the best by validation.
///
///     tn::grid_search search(grid, tn::devices_of(cluster, {"worker"}), {.name = "widths", .file = "run/widths.jsonl"});
///     search.run([&](const settings& s, tn::trial& t) {
///         // ... the model, as ever: it is placed on the trial's device ...
///         tn::session& sess = t.session();
///         sess.run(tn::initialize_variables());
///         for (int epoch = 1; epoch <= 10; ++epoch) {
///             // ... steps ...
///             if (!t.report(epoch, validation_accuracy)) break;
///         }
///     });
///     for (const auto& r : search.best(3)) std::printf("%s: %.3f\n", r.text.c_str(), r.score);
///
/// **The same results wherever.** A point's graph has a seed that follows from its settings and the search's seed, and variables in a
/// container of its own. So what a point gives depends neither on its device nor on the order, unless it is stopped by the median, which
/// depends on which others have ended before.
///
/// **Lost tasks.** A point whose task is lost (lost_task_error, or any error after which no session can be opened on its device) is trained
/// again from its beginning, by whichever device is free next; the log names it and progress() counts it. The task is tried again now and
/// then, and takes points when it is back. When there has been no device for device_timeout, run() throws; what has ended stays known, and
/// run() may be called again. A point that has lost `attempts` tasks is a failed one. Other errors of a training are that point's: it has
/// failed, with the message.
///
/// **Going on.** With a `file` each end is a line in it, on the disk before anything else, and the weights of the best lie beside it, those of
/// point 3 in FILE.point-3.safetensors. A program that was killed, whenever, and is started again with the same grid and file trains
/// what was not ended. No other files are removed; weights that were written with another file, or of other settings, are not taken, which the
/// log tells.

namespace tenon {

struct grid_search_options {
    /// In the log, the results' file, and errors.
    std::string name = "grid";
    /// Results, a line of JSON for each point that has ended. Empty: they are in memory only.
    std::string file{};
    std::uint64_t seed = 1;
    /// Of losses; else the best score is the largest.
    bool smaller_is_better = false;
    /// The weights of so many of the best are kept: beside the file, or in memory.
    int keep = 3;
    /// Trials that are worse than the median of others are stopped. Its smaller_is_better is this one's.
    std::optional<median_stopping_options> median{};
    /// The first point that fails ends the search; else the others go on.
    bool stop_on_failure = false;
    /// Points that have failed in an earlier run of the file are trained again.
    bool retry_failed = false;
    /// So many tasks may a point lose before it has failed: what ends a process may be its network.
    int attempts = 5;
    /// Seconds for which devices that are all lost are waited for.
    double device_timeout = 60;
    /// Seconds that a step has to end when a stop is requested. Then its session is closed.
    double stop_grace = 5;
    /// Of the trials' sessions. An op that a GPU has no kernel for runs on the CPU. Of servers a session uses the trial's task, and those
    /// that device_filters names.
    session_options session{.allow_soft_placement = true};
    /// The search's threads are this one's, and a stop that it asks for is one of the search. A signal is, too (train/session/stop_signal.hpp).
    coordinator* threads = nullptr;
    /// Lines: a point that has ended, with how far all is; a device that is lost, or back. What it throws ends the run. Not set: standard
    /// error.
    hook_log log{};
    /// Seconds, for what is shown; not set: the steady clock.
    shared_function<double()> clock{};
};

/// How far a search is.
struct search_progress {
    int points = 0;
    int done = 0, stopped = 0, failed = 0; ///< that have ended
    int running = 0, left = 0;             ///< that have not
    int lost = 0;                          ///< trainings that were lost with their task, so far
    int devices = 0, lost_devices = 0;
    double best_score = 0; ///< NaN: none yet
    std::string best{};    ///< its settings
    /// By the mean of what ended in this run, on the devices that there are; NaN: none has.
    double seconds_left = 0;
    /// "7 of 12 done (1 stopped, 1 failed), 3 running, 2 left; best 0.912 by rate=0.1; about 35 s left"
    std::string text() const;
};

/// A trial_outcome with its point's settings.
template <class S> struct trial_result : trial_outcome { S settings{}; };

namespace detail {

// All of a search but the type of its settings. Thread-safe but for run(), which one thread calls at a time.
class search_core {
public:
    search_core(std::vector<std::string> points, std::string axes, std::vector<grid_device> devices,
                grid_search_options o);
    ~search_core();
    void run(shared_function<void(int point, trial&)> train);
    std::vector<trial_outcome> results() const;
    std::vector<trial_outcome> best(int k) const;
    search_progress progress() const;
    void request_stop() noexcept;

private:
    struct state;
    struct worker;
    class training;
    std::shared_ptr<state> state_; // threads hold it
};

} // namespace detail

/// A search over a grid's points. It holds what has ended; run() trains what has not.
template <class S> class grid_search {
public:
    /// Reads the file, where there is one; another program may be writing to it. invalid_argument_error where there are no points or
    /// devices, an option makes no sense, or the file is of another grid, naming both; data_loss_error, with the line, where it is damaged.
    grid_search(grid<S> points, std::vector<grid_device> devices, grid_search_options o = {}) :
        grid_(std::move(points)), core_(texts(grid_), grid_.described(), std::move(devices), std::move(o)) {}

    /// train(settings, trial), for each point that has not ended, on the threads of the devices: for several at a time. Returns when all
    /// have ended or a stop was requested. Throws unavailable_error, naming the devices and why, where all are lost for too
    /// long; with stop_on_failure what the first failed point threw; what the log threw; aborted_error where another search writes to the
    /// file now, and what the file system says of it.
    template <class F> void run(F&& train) {
        static_assert(std::is_invocable_v<F&, const S&, trial&>,
                      "tenon::grid_search::run: it takes a function of the settings and the trial: "
                      "[](const settings& s, tn::trial& t) {...}");
        if constexpr (std::is_invocable_v<F&, const S&, trial&>)
            core_.run([&](int point, trial& t) { train(grid_[point].settings, t); });
    }
    /// A run() that is under way ends: trials when they next report, or after stop_grace. What has not ended is trained by the next.
    void request_stop() noexcept { core_.request_stop(); }

    /// What has ended, by the number of the point.
    std::vector<trial_result<S>> results() const { return typed(core_.results()); }
    /// The k best of those that have a score, the best first; of equal ones the point that comes first.
    std::vector<trial_result<S>> best(int k) const { return typed(core_.best(k)); }
    bool is_complete() const { return static_cast<int>(core_.results().size()) == grid_.size(); }
    search_progress progress() const { return core_.progress(); }
    const grid<S>& points() const noexcept { return grid_; }

private:
    static std::vector<std::string> texts(const grid<S>& g) {
        std::vector<std::string> all;
        for (const grid_point<S>& p : g) all.push_back(p.text());
        return all;
    }
    std::vector<trial_result<S>> typed(std::vector<trial_outcome>&& all) const {
        std::vector<trial_result<S>> results;
        for (trial_outcome& o : all) {
            const int point = o.point;
            results.push_back({std::move(o), grid_[point].settings});
        }
        return results;
    }
    grid<S> grid_;
    detail::search_core core_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/search/grid_search.ipp>
#endif
