#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

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
    if (best_before.epoch > 0) return best_before;
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

TENON_INLINE void check_metrics(const fit_options& o, const char* whose, std::size_t scalars) {
    if (scalars != o.metrics.size())
        throw invalid_argument_error("fit: the callable for " + std::string(whose) + " fetches " +
                                     std::to_string(scalars) + " scalars; fit_options::metrics names " +
                                     std::to_string(o.metrics.size()));
}

// The sums of a part of an epoch, of rows, by metric.
struct metric_sums {
    std::int64_t rows = 0;
    std::vector<double> of{};
};

// The means of an epoch, of which a part may have been measured.
class metric_means {
public:
    explicit metric_means(const fit_options& o, const char* whose, const metric_sums& part = {}) :
        o_(o), whose_(whose) {
        if (part.of.size() == o.metrics.size()) sums_ = part;
    }
    void add(std::int64_t rows, const std::vector<double>& values) {
        ++batches_;
        if (rows == 0)
            throw invalid_argument_error("fit: batch " + std::to_string(batches_) + " of the data for " + whose_ +
                                         " has no rows, and no mean to learn from; leave it out of the data");
        check_metrics(o_, whose_, values.size());
        sums_.of.resize(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) sums_.of[i] += static_cast<double>(rows) * values[i];
        sums_.rows += rows;
    }
    const metric_sums& sums() const { return sums_; }
    std::vector<double> means() const {
        if (sums_.rows == 0) throw invalid_argument_error("fit: the data for " + std::string(whose_) + " has no rows");
        std::vector<double> all = sums_.of;
        for (double& m : all) m /= static_cast<double>(sums_.rows);
        return all;
    }

private:
    const fit_options& o_;
    const char* whose_;
    metric_sums sums_;
    std::int64_t batches_ = 0;
};

// Numbers as a text, and back.
inline std::string text_of_numbers(const std::vector<double>& numbers) {
    std::string text;
    for (const double n : numbers) text += (text.empty() ? "" : " ") + text_of_number(n);
    return text;
}
inline std::vector<double> numbers_of_text(const std::string& text) {
    std::vector<double> numbers;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        numbers.push_back(read_double(text.data() + at, text.data() + end));
        at = end + 1;
    }
    return numbers;
}

// How far a training is, but for its variables: with each checkpoint, as texts.
struct fit_state {
    std::string measured{};     // epochs that were measured otherwise are neither better nor worse
    fit_epoch best{};           // its number is 0: there was none
    std::int64_t best_step = 0; // of its checkpoint
    int waited = 0;             // epochs since the best
    std::int64_t steps = 0;     // of an epoch that was left in its middle, whose rows are in `part`
    metric_sums part{};

    std::map<std::string, std::string> texts() const {
        const auto number = [](std::int64_t n) { return static_cast<double>(n); };
        std::vector<double> had{number(steps), number(part.rows)};
        had.insert(had.end(), part.of.begin(), part.of.end());
        std::vector<double> is{number(best.epoch), number(best_step), number(waited), number(best.steps), best.seconds};
        is.insert(is.end(), best.training.begin(), best.training.end());
        is.insert(is.end(), best.validation.begin(), best.validation.end());
        return {{"fit/measured", measured}, {"fit/best", text_of_numbers(is)}, {"fit/part", text_of_numbers(had)}};
    }
    // Nothing, and false, where epochs were measured otherwise. An epoch has so many training metrics, and `values` in all.
    bool read(const std::map<std::string, std::string>& texts, std::size_t metrics, std::size_t values) {
        const auto list = [&](const char* name) {
            const auto at = texts.find(name);
            return at == texts.end() ? std::vector<double>() : numbers_of_text(at->second);
        };
        const auto count = [](double n) { return n >= 0 && n < 1e15 ? static_cast<std::int64_t>(n) : 0; };
        const std::vector<double> had = list("fit/part"), is = list("fit/best");
        const auto as = texts.find("fit/measured");
        if (as == texts.end() || as->second != measured || had.size() < 2 || is.size() < 5) return false;
        steps = count(had[0]);
        part = {count(had[1]), {had.begin() + 2, had.end()}};
        if (is.size() != 5 + values) return true; // there was none
        const auto trained = is.begin() + 5, validated = trained + static_cast<std::ptrdiff_t>(metrics);
        best = {static_cast<int>(count(is[0])), count(is[3]), {trained, validated}, {validated, is.end()}, is[4], true};
        best_step = count(is[1]);
        waited = static_cast<int>(count(is[2]));
        return true;
    }
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

// Values for all variables where no checkpoint gives them.
inline void initialize_for_fit(session& s, const any_tensor& done) {
    std::vector<std::string> without = uninitialized_variables(s);
    std::erase(without, done.name());
    s.run(initializer_of(done)); // of another training, a model's that was loaded, epochs are not counted
    const auto others = graph(done.node()->graph).collection(global_variables).size() - 1;
    if (without.size() == others) s.run(initialize_variables());
    else if (!without.empty())
        throw failed_precondition_error(
            "fit: some variables have values, and these have none: " + joined(without, ", ") +
            "; make all of the graph, run initialize_variables(), and load values after that, or leave it all to fit");
}

// What a training keeps: the best epoch's variables, and checkpoints.
class fit_keeper {
public:
    fit_keeper(session& s, const fit_options& o, const any_tensor& done, function_ref<void(const std::string&)> say) :
        s_(s), o_(o), done_(done), say_(say), best_(graph(done.node()->graph), done) {
        if (!o.checkpoint.empty()) saver_.emplace(o.checkpoint, saver_options{.keep = o.keep});
    }
    // How many epochs there were before; says where a checkpoint goes on.
    std::int64_t begin(fit_state& state, bool validates) {
        const std::vector<std::string> all = saver_ && o_.resume ? saver_->checkpoints(s_) : std::vector<std::string>();
        if (all.empty()) {
            initialize_for_fit(s_, done_);
            // So that who cannot save learns it now, and who is stopped soon begins with these values.
            if (saver_) save(state, -1);
            return 0;
        }
        const checkpoint_manifest last = saver_->manifest(s_, all.back());
        if (o_.partial) s_.run(initialize_variables());
        std::string forgotten;
        if (!state.read(last.metadata, o_.metrics.size(), (validates ? 2 : 1) * o_.metrics.size()))
            forgotten = last.metadata.contains("fit/best") ? "they were measured otherwise"
                                                           : "the checkpoint says nothing of them";
        else if (o_.restore_best && state.best.epoch > 0) try {
                saver_->restore(s_, {.checkpoint = path(state.best_step), .partial = o_.partial});
                keep_best();
            } catch (const error& e) {
                if (e.code() != error_code::not_found && e.code() != error_code::data_loss) throw;
                forgotten = e.what();
            }
        restored_checkpoint r = saver_->restore(s_, {.checkpoint = all.back(), .partial = o_.partial});
        r.missing.insert(r.missing.end(), r.mismatched.begin(), r.mismatched.end());
        const auto is_average = [](const std::string& name) { return name.ends_with("/moving_average"); };
        if (o_.average && std::any_of(r.missing.begin(), r.missing.end(), is_average)) s_.run(o_.average->restart());
        if (!r.missing.empty()) forgotten = "not in the checkpoint, and begun anew: " + joined(r.missing, ", ");
        if (!forgotten.empty()) {
            state.best = {};
            state.waited = 0;
        }
        saved_step_ = last.step;
        const std::int64_t before = s_.run_untyped({}, {done_})[0].data<std::int64_t>()[0];
        say_("goes on after epoch " + std::to_string(before) +
             (state.steps > 0 ? " and " + std::to_string(state.steps) + " steps" : ""));
        if (!forgotten.empty()) say_("the best of those epochs is not known: " + forgotten);
        return before;
    }
    void keep_best() {
        std::optional<moving_average::swap> averaged;
        if (o_.average) averaged.emplace(*o_.average, s_);
        best_.keep(s_);
        if (averaged) averaged->restore();
    }
    void restore_best() const { best_.restore(s_); }
    bool saves() const { return saver_.has_value(); }
    void save(fit_state& state, int epoch) {
        const std::vector<any_tensor> global = s_.bound_graph().collection("global_step");
        const std::int64_t step = global.empty() ? 0 : s_.run_untyped({}, global)[0].data<std::int64_t>()[0];
        saved_step_ = std::max(step, saved_step_ + 1); // no two have one name, also where nobody counts steps
        if (state.best.epoch == epoch) state.best_step = saved_step_;
        look_for_others();
        saved_id_ = saver_
                        ->save(s_, saved_step_,
                               {.metadata = state.texts(), .stays = state.best.epoch > 0 ? path(state.best_step) : ""})
                        .manifest.id;
    }

private:
    // Says once that the last checkpoint is not the one that was saved last.
    void look_for_others() {
        if (saved_id_.empty() || others_are_told_) return;
        try {
            const std::vector<std::string> all = saver_->checkpoints(s_);
            others_are_told_ = !all.empty() && saver_->manifest(s_, all.back()).id != saved_id_;
        } catch (const error&) { // the save that follows tells of it, or finds another one
        }
        if (others_are_told_)
            say_("another program saves checkpoints of '" + o_.checkpoint +
                 "', too: whoever is started again goes on with the last of either; give each training a path of its "
                 "own");
    }
    std::string path(std::int64_t step) const { return o_.checkpoint + "-" + std::to_string(step) + ".json"; }
    session& s_;
    const fit_options& o_;
    any_tensor done_;
    function_ref<void(const std::string&)> say_;
    kept_variables best_;
    std::optional<saver> saver_;
    std::int64_t saved_step_ = -1;
    std::string saved_id_{}; // of the last one
    bool others_are_told_ = false;
};

// What tells which epoch is better: "loss, accuracy; the least accuracy of validation".
inline std::string said_measure(const fit_options& o, std::size_t watched, bool validates) {
    return joined(o.metrics, ", ") + (o.larger_is_better ? "; the largest " : "; the least ") + o.metrics[watched] +
           " of " + (validates ? "validation" : "training");
}

TENON_INLINE fit_history fit(session& s, const fit_options& o, data_pass train, const data_pass* validate) {
    const std::size_t watched = watched_metric(o);
    const graph of = s.bound_graph();
    const graph_scope scope(of);
    const any_tensor done = global_counter("fit_epochs");
    const operation count = untyped::assign_add(done, 1).operation();
    const auto say = [&](const std::string& line) {
        if (o.log) o.log(line);
        else std::fprintf(stderr, "%s\n", line.c_str());
    };
    fit_state state{.measured = said_measure(o, watched, validate != nullptr)};
    fit_keeper keeper(s, o, done, say);
    const std::int64_t before = keeper.begin(state, validate != nullptr);

    fit_history history{o.metrics, {}, state.best.epoch, false, state.best};
    // Whether epochs are no better for so long that it ends.
    const auto no_better = [&] {
        if (o.patience == 0 || state.waited < o.patience) return false;
        say("no better for " + std::to_string(state.waited) + " epochs: the best is epoch " +
            std::to_string(state.best.epoch));
        return true;
    };
    history.stopped_early = before < o.epochs && no_better();
    file_console console(stderr);
    const bool shows_bar = o.progress && console.is_terminal();
    std::int64_t steps_an_epoch = 0; // known after the first
    for (std::int64_t number = before + 1; number <= o.epochs && !history.stopped_early; ++number) {
        const auto began = std::chrono::steady_clock::now();
        const auto seconds = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        };
        fit_epoch e;
        e.epoch = static_cast<int>(number);
        e.steps = std::exchange(state.steps, 0);
        bool stop = false;
        const auto call = [&](const std::vector<shared_function<void(fit_progress&)>>& callbacks) {
            fit_progress p{s, e, false};
            for (const auto& callback : callbacks) callback(p);
            stop = stop || p.stop || stop_signal() != 0;
        };
        {
            metric_means means(o, "training", state.part);
            std::optional<progress_bar> bar;
            const std::string title = "epoch " + std::to_string(number) + " of " + std::to_string(o.epochs);
            if (shows_bar) bar.emplace(steps_an_epoch, title, progress_options{.console = &console});
            train(e.epoch, std::exchange(state.part, {}).rows,
                  [&](std::int64_t rows, const std::vector<double>& values) {
                      means.add(rows, values);
                      ++e.steps;
                      for (std::size_t i = 0; o.check_finite && i < values.size(); ++i)
                          if (!std::isfinite(values[i]))
                              throw failed_precondition_error("fit: " + o.metrics[i] + " is " +
                                                              text_of_number(values[i]) + " in step " +
                                                              std::to_string(e.steps) + " of " + title);
                      if (bar) bar->advance(1, {{o.metrics[0].c_str(), values[0]}});
                      if (!o.after_step.empty() || stop_signal() != 0) {
                          e.training = values;
                          call(o.after_step);
                      }
                      return !stop;
                  });
            e.training = means.means();
            steps_an_epoch = e.steps;
            if (stop && keeper.saves()) { // the epoch's other steps are to come, in whoever goes on
                fit_state here = state;
                here.steps = e.steps;
                here.part = means.sums();
                keeper.save(here, 0);
            }
        }
        {
            std::optional<moving_average::swap> averaged;
            if (o.average) averaged.emplace(*o.average, s);
            if (validate) {
                metric_means means(o, "validation");
                (*validate)(e.epoch, 0, [&](std::int64_t rows, const std::vector<double>& values) {
                    means.add(rows, values);
                    return true;
                });
                e.validation = means.means();
            }
            const auto value_of = [&](const fit_epoch& it) {
                return (validate ? it.validation : it.training)[watched];
            };
            const double value = value_of(e), change = state.best.epoch > 0 ? value - value_of(state.best) : 0;
            e.is_best = std::isfinite(value) &&
                        (state.best.epoch == 0 || (o.larger_is_better ? change : -change) > o.least_change);
            if (e.is_best) {
                state.best = e;
                state.best.seconds = seconds();
                state.waited = 0;
                history.best_epoch = e.epoch;
            } else ++state.waited;
            if (averaged) averaged->restore();
        }
        e.seconds = seconds();
        char took[32];
        std::snprintf(took, sizeof took, "%.1f s", e.seconds);
        say("epoch " + std::to_string(number) + " of " + std::to_string(o.epochs) + ": " + said_metrics(o, e.training) +
            (validate ? "; validation: " + said_metrics(o, e.validation) : "") + "; " + took +
            (e.is_best ? "; the best" : ""));
        history.epochs.push_back(std::move(e));
        // With what callbacks have done to variables, as to a rate; where one throws, the epoch is not lost.
        const auto keep = [&] {
            if (history.best_epoch == number && o.restore_best) keeper.keep_best();
            if (stop) return;
            s.run(count);
            if (keeper.saves()) keeper.save(state, static_cast<int>(number));
        };
        fit_progress p{s, history.epochs.back(), stop};
        try {
            for (const auto& callback : o.after_epoch) callback(p);
        } catch (...) {
            keep();
            throw;
        }
        keep();
        const bool ended = no_better();
        history.stopped_early = number < o.epochs && (p.stop || ended || stop_signal() != 0);
    }
    if (o.restore_best && history.best_epoch != 0) keeper.restore_best();
    return history;
}

} // namespace detail
} // namespace tenon
