#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/data/progress.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/train/checkpoint/saver.hpp>
#include <tenon/train/fit.hpp>
#include <tenon/train/optimize/global_counter.hpp>
#include <tenon/train/session/monitored_session.hpp>
#include <tenon/train/session/stop_signal.hpp>

namespace tenon {

TENON_INLINE const fit_epoch& fit_history::best() const {
    for (const fit_epoch& e : epochs)
        if (e.epoch == best_epoch) return e;
    throw failed_precondition_error("fit_history::best: there was no epoch");
}

namespace detail {

TENON_INLINE double scalar_of(const any_array& value) {
    if (value.elements() != 1 || !is_numeric(value.element()))
        throw invalid_argument_error("fit: a callable fetches " + to_string(value.type()) +
                                     "; its metrics are scalars, as mean(..) gives them");
    return with_element(value.element(), [&](auto element) {
        using T = decltype(element);
        if constexpr (std::is_same_v<T, std::string>) return 0.0;
        else return static_cast<double>(value.data<T>()[0]);
    });
}

// The means of an epoch.
class metric_means {
public:
    explicit metric_means(const fit_options& o, const char* whose) : o_(o), whose_(whose) {}
    void add(std::int64_t rows, const std::vector<double>& values) {
        ++batches_;
        if (rows == 0)
            throw invalid_argument_error("fit: batch " + std::to_string(batches_) + " of the data for " + whose_ +
                                         " has no rows, and no mean to learn from; leave it out of the data");
        if (values.size() != o_.metrics.size())
            throw invalid_argument_error("fit: the callable for " + std::string(whose_) + " fetches " +
                                         std::to_string(values.size()) + " scalars; fit_options::metrics names " +
                                         std::to_string(o_.metrics.size()));
        sums_.resize(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) sums_[i] += static_cast<double>(rows) * values[i];
        rows_ += rows;
    }
    std::vector<double> means() const {
        if (rows_ == 0) throw invalid_argument_error("fit: the data for " + std::string(whose_) + " has no rows");
        std::vector<double> all = sums_;
        for (double& m : all) m /= static_cast<double>(rows_);
        return all;
    }

private:
    const fit_options& o_;
    const char* whose_;
    std::vector<double> sums_;
    std::int64_t rows_ = 0, batches_ = 0;
};

// What all variables are at a moment, and how they become so again.
class kept_variables {
public:
    kept_variables(const graph& of, const any_tensor& but) {
        for (const any_tensor& v : of.collection(global_variables)) {
            if (v.node() == but.node()) continue;
            variables_.push_back(v);
            values_.push_back(untyped::placeholder(v.element(), v.extents()));
            restore_.push_back(untyped::assign(v, values_.back()).operation());
        }
    }
    void keep(session& s) { kept_ = s.run_untyped({}, variables_); }
    void restore(session& s) const {
        if (kept_.empty()) return;
        std::vector<fed_value> feeds;
        for (std::size_t i = 0; i < values_.size(); ++i) feeds.push_back({values_[i], kept_[i].share()});
        s.run_untyped(std::move(feeds), {}, restore_);
    }

private:
    std::vector<any_tensor> variables_, values_;
    std::vector<operation> restore_;
    std::vector<any_array> kept_;
};

inline std::string said_metrics(const fit_options& o, const std::vector<double>& values) {
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i)
        text += (i > 0 ? ", " : "") + o.metrics[i] + " " + text_of_number(values[i], 4);
    return text;
}

inline std::size_t watched_metric(const fit_options& o) {
    const auto refuse = [](const std::string& what) { throw invalid_argument_error("fit: " + what); };
    if (o.epochs < 1) refuse(std::to_string(o.epochs) + " epochs are asked for; give 1 or more");
    if (o.patience < 0) refuse("the patience is " + std::to_string(o.patience) + " epochs; give 0 or more");
    if (!(o.least_change >= 0))
        refuse("the least change is " + text_of_number(o.least_change) + "; give a number that is not negative");
    if (o.metrics.empty()) refuse("fit_options::metrics is empty; name what the callable fetches");
    if (o.watched.empty()) return 0;
    const auto at = std::find(o.metrics.begin(), o.metrics.end(), o.watched);
    if (at == o.metrics.end()) refuse("the watched metric \"" + o.watched + "\" is none of fit_options::metrics");
    return static_cast<std::size_t>(at - o.metrics.begin());
}

// Values for all variables, and how many epochs they have been trained for.
inline std::int64_t begin_fit(session& s, const fit_options& o, saver* checkpoints, const any_tensor& done) {
    if (checkpoints && o.resume && !checkpoints->checkpoints(s).empty()) checkpoints->restore(s);
    else {
        std::vector<std::string> without = uninitialized_variables(s);
        if (std::erase(without, done.name()) > 0) s.run(initializer_of(done));
        const auto others = graph(done.node()->graph).collection(global_variables).size() - 1;
        if (without.size() == others) s.run(initialize_variables());
        else if (!without.empty()) {
            std::string names;
            for (const std::string& n : without) names += (names.empty() ? "" : ", ") + n;
            throw failed_precondition_error("fit: some variables have values, and these have none: " + names +
                                            "; run initialize_variables() once all of the graph is made, or leave it "
                                            "to fit");
        }
    }
    return s.run_untyped({}, {done})[0].data<std::int64_t>()[0];
}

TENON_INLINE fit_history fit(session& s, const fit_options& o, data_pass train, const data_pass* validate) {
    const std::size_t watched = watched_metric(o);
    const graph of = s.bound_graph();
    const graph_scope scope(of);
    const any_tensor done = global_counter("fit_epochs");
    const operation count = untyped::assign_add(done, 1).operation();
    std::optional<saver> checkpoints;
    if (!o.checkpoint.empty()) checkpoints.emplace(o.checkpoint, saver_options{.keep = o.keep});
    const auto say = [&](const std::string& line) {
        if (o.log) o.log(line);
        else std::fprintf(stderr, "%s\n", line.c_str());
    };
    const std::int64_t before = begin_fit(s, o, checkpoints ? &*checkpoints : nullptr, done);
    const std::int64_t first = checkpoints && o.resume ? before + 1 : 1;
    if (first > 1) say("goes on after epoch " + std::to_string(before));

    fit_history history{o.metrics, {}, 0, false};
    kept_variables best(of, done);
    double best_value = 0;
    int waited = 0;
    file_console console(stderr);
    const bool shows_bar = o.progress && console.is_terminal();
    std::int64_t steps_an_epoch = 0; // known after the first
    for (std::int64_t number = first; number <= o.epochs && !history.stopped_early; ++number) {
        const auto began = std::chrono::steady_clock::now();
        fit_epoch e;
        e.epoch = static_cast<int>(number);
        bool stop = false;
        const auto call = [&](const std::vector<shared_function<void(fit_progress&)>>& callbacks) {
            fit_progress p{s, e, false};
            for (const auto& callback : callbacks) callback(p);
            stop = stop || p.stop || stop_signal() != 0;
        };
        {
            metric_means means(o, "training");
            std::optional<progress_bar> bar;
            const std::string title = "epoch " + std::to_string(number) + " of " + std::to_string(o.epochs);
            if (shows_bar) bar.emplace(steps_an_epoch, title, progress_options{.console = &console});
            train(e.epoch, [&](std::int64_t rows, const std::vector<double>& values) {
                means.add(rows, values);
                ++e.steps;
                for (std::size_t i = 0; o.check_finite && i < values.size(); ++i)
                    if (!std::isfinite(values[i]))
                        throw failed_precondition_error("fit: " + o.metrics[i] + " is " + text_of_number(values[i]) +
                                                        " in step " + std::to_string(e.steps) + " of " + title);
                if (bar) bar->advance(1, {{o.metrics[0].c_str(), values[0]}});
                if (!o.after_step.empty() || stop_signal() != 0) {
                    e.training = values;
                    call(o.after_step);
                }
                return !stop;
            });
            e.training = means.means();
            steps_an_epoch = e.steps;
        }
        {
            std::optional<moving_average::swap> averaged;
            if (o.average) averaged.emplace(*o.average, s);
            if (validate) {
                metric_means means(o, "validation");
                (*validate)(e.epoch, [&](std::int64_t rows, const std::vector<double>& values) {
                    means.add(rows, values);
                    return true;
                });
                e.validation = means.means();
            }
            const double value = (validate ? e.validation : e.training)[watched];
            const double change = o.larger_is_better ? value - best_value : best_value - value;
            e.is_best = std::isfinite(value) && (history.best_epoch == 0 || change > o.least_change);
            if (e.is_best) {
                best_value = value;
                history.best_epoch = e.epoch;
                waited = 0;
                if (o.restore_best) best.keep(s);
            } else ++waited;
            if (averaged) averaged->restore();
        }
        s.run(count);
        if (checkpoints) checkpoints->save(s);
        e.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        char took[32];
        std::snprintf(took, sizeof took, "%.1f s", e.seconds);
        say("epoch " + std::to_string(number) + " of " + std::to_string(o.epochs) + ": " + said_metrics(o, e.training) +
            (validate ? "; validation: " + said_metrics(o, e.validation) : "") + "; " + took +
            (e.is_best ? "; the best" : ""));
        history.epochs.push_back(std::move(e));
        fit_progress p{s, history.epochs.back(), stop};
        for (const auto& callback : o.after_epoch) callback(p);
        const bool no_better = o.patience > 0 && waited >= o.patience;
        if (no_better)
            say("no better for " + std::to_string(waited) + " epochs: the best is epoch " +
                std::to_string(history.best_epoch));
        history.stopped_early = number < o.epochs && (p.stop || no_better || stop_signal() != 0);
    }
    if (o.restore_best && history.best_epoch != 0) best.restore(s);
    return history;
}

} // namespace detail
} // namespace tenon
