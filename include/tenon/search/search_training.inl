#pragma once

// A part of search/grid_search.ipp: one training: what it is told, and what becomes of it.

#include <tenon/graph/graph.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/search/search_state.inl>

namespace tenon::detail {

TENON_INLINE tenon::session& search_core::training::session() {
    if (open) return *open;
    session_options o = of_.options.session;
    std::shared_ptr<tenon::session> made;
    refused = true;
    if (on_.here) made = std::make_shared<tenon::session>(*on_.here, graph::current(), o);
    else {
        o.device_filters.push_back(task_filter(on_.name));
        made = std::make_shared<tenon::session>(on_.target, graph::current(), o);
    }
    refused = false;
    const std::lock_guard lock(of_.guard);
    if (of_.stopping) // those that are open may have been closed already
        throw cancelled_error("trial::session: a stop of the search was requested");
    open = std::move(made);
    return *open;
}

TENON_INLINE bool search_core::training::report(std::int64_t step, double score) {
    if (!history.empty() && step < history.back().step)
        throw invalid_argument_error("trial::report: step " + std::to_string(step) + " after step " +
                                     std::to_string(history.back().step) + "; steps do not go back");
    history.push_back({step, score});
    if (best_of(history, of_.options.smaller_is_better) == &history.back()) take_weights();
    if (should_stop()) return false;
    if (!of_.options.median) return true;
    const std::lock_guard lock(of_.guard);
    by_median = of_.medians.should_stop(history);
    return !by_median;
}
TENON_INLINE bool search_core::training::should_stop() const noexcept {
    if (by_median) return true;
    if (of_.stopping) cut_off = true;
    return cut_off;
}

TENON_INLINE void search_core::training::take_weights() {
    if (!open || of_.options.keep == 0) return;
    if (weights.empty() && open->bound_graph().collection(global_variables).empty()) return;
    save_options o{.variables = weights, .metadata = {{"settings", of_.record.text(point)}}};
    best =
        std::make_shared<const safetensors_file>(copy_variables(*open, "the weights of " + of_.point_text(point), o));
}

// What is on a task that cannot be reached is forgotten when that is back.
TENON_INLINE void search_core::training::forget_container() noexcept {
    try {
        if (on_.here) task(*on_.here).reset({container});
        else tenon::session::reset(on_.target, {container});
    } catch (const std::exception&) { // of another task mostly; this one's server has done it first
    }
}

// Under the guard: its training, if it has one, is over, and the point has ended or is left.
TENON_INLINE void search_core::state::release(worker& w, bool has_ended) {
    if (!w.runs) return;
    if (!has_ended) left.push_front(w.runs->point);
    w.runs = nullptr;
    --running;
    changed.notify_all();
}

TENON_INLINE void search_core::state::train_one(worker& w, int point, const shared_function<void(int, trial&)>& train) {
    training t(*this, w.device);
    t.point = point;
    {
        const std::lock_guard lock(guard);
        w.runs = &t;
    }
    try {
        {
            const std::lock_guard lock(guard);
            t.began = now();
            t.seed = record.seed(point);
            t.attempt = static_cast<int>(lost_on[point].size()) + 1;
            t.container = "grid " + record.id() + "/" + std::to_string(point) + "." + std::to_string(t.attempt);
        }
        if (record.has_file()) t.forget_container(); // what a program that was killed has left
        std::exception_ptr error;
        trial_outcome o = train_alone(t, train, error);
        {
            const auto closing = t.open;
            const std::lock_guard lock(guard);
            t.open.reset();
        }
        const std::optional<std::string> loss = error ? loss_by(w, error) : std::nullopt;
        if (!loss) t.forget_container();
        else if (lose(w, t, *loss, o)) return;
        end(w, t, std::move(o), error);
    } catch (...) { // what has ended could not be kept
        const std::lock_guard lock(guard);
        release(w, false);
        throw;
    }
}

// In a graph and a container of its own, on its device.
TENON_INLINE trial_outcome search_core::state::train_alone(training& t, const shared_function<void(int, trial&)>& train,
                                                           std::exception_ptr& error) {
    trial_outcome o;
    try {
        graph g;
        const graph_scope in(g);
        g.set_seed(t.seed);
        const container_scope apart(t.container);
        const device_scope placed(t.device);
        trial told(t);
        try {
            train(t.point, told);
        } catch (const end_of_data_error&) { // a clean end
        }
        if (t.by_median) o.end = trial_end::stopped;
        else if (t.history.empty() && !t.cut_off) throw failed_precondition_error("it has reported no score");
    } catch (const std::exception& e) {
        o.end = trial_end::failed;
        o.message = e.what();
        error = std::current_exception();
    } catch (...) {
        o.end = trial_end::failed;
        o.message = "what was thrown is no std::exception";
        error = std::current_exception();
    }
    return o;
}

// Why the device is lost where a training has ended with an error; none: the error is the point's own. On a device that takes no session
// any more each point would fail.
TENON_INLINE std::optional<std::string> search_core::state::loss_by(const worker& w,
                                                                    const std::exception_ptr& error) const {
    try {
        std::rethrow_exception(error);
    } catch (const tenon::error& e) {
        if (e.reason() == error_reason::lost_task) return e.what();
    } catch (...) {
    }
    const std::string trouble = stopping ? std::string() : trouble_with(w.device, longest_try);
    return trouble.empty() ? std::nullopt : std::optional(trouble);
}

// Whether the point is trained again; else it has failed.
TENON_INLINE bool search_core::state::lose(worker& w, training& t, const std::string& why, trial_outcome& o) {
    std::size_t times = 0;
    bool again = false;
    {
        const std::lock_guard lock(guard);
        w.lost = true;
        w.why = why;
        w.containers.push_back(t.container);
        if (!t.refused) { // else it had not begun
            lost_on[t.point].push_back(to_string(w.device.name));
            ++lost_trainings;
        }
        times = lost_on[t.point].size();
        again = times < static_cast<std::size_t>(options.attempts);
        if (again) release(w, false);
    }
    if (!again) o.message = "it has lost " + std::to_string(times) + " tasks, the last one by: " + o.message;
    tell(to_string(w.device.name) + " is lost" +
         (again ? ", and " + point_text(t.point) + " is trained again: " : ": ") + why);
    return again;
}

TENON_INLINE void search_core::state::end(worker& w, training& t, trial_outcome o, const std::exception_ptr& error) {
    if (!t.by_median && (t.cut_off || (stopping && error))) {
        const std::lock_guard lock(guard);
        release(w, false);
        return;
    }
    o.point = t.point;
    o.text = record.text(t.point);
    o.seed = t.seed;
    const reported_score* const best = best_of(t.history, options.smaller_is_better);
    o.score = best ? best->score : std::numeric_limits<double>::quiet_NaN();
    o.best_step = best ? best->step : -1;
    o.history = t.history;
    o.seconds = now() - t.began;
    o.device = to_string(w.device.name);
    std::string line = point_text(t.point) +
                       (o.end == trial_end::failed    ? " has failed: " + o.message
                        : o.end == trial_end::stopped ? " was stopped by the median"
                                                      : " has ended") +
                       (best ? ", best score " + shown_score(o.score) : "") + "; ";
    bool keeps = false;
    {
        const std::lock_guard lock(guard);
        o.lost_on = lost_on[t.point];
        keeps = record.is_among_best(o);
    }
    if (keeps) o.weights = record.kept(t.point, t.best); // on the disk before the line that says so
    {
        const std::lock_guard lock(guard);
        const double took = o.seconds;
        const trial_end how = o.end;
        record.enter(std::move(o));
        release(w, true);
        ++trained;
        trained_seconds += took;
        if (how == trial_end::done) medians.complete(t.history);
        if (how == trial_end::failed && options.stop_on_failure) fail(error);
        line += progress_now().text();
    }
    tell(line);
}

} // namespace tenon::detail
