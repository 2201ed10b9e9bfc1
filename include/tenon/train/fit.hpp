#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/function_ref.hpp>
#include <tenon/core/shared_function.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/optimize/moving_average.hpp>
#include <tenon/train/session/session_hook.hpp>

/// Training as a loop over epochs, with what most loops have: progress, validation, checkpoints, an early end, the best model, callbacks.
///
///     auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss, accuracy));
///     auto test = sess.callable(tn::feeds(x, y), tn::fetches(test_loss, test_accuracy));
///     const tn::fit_history history = tn::fit(sess, {.epochs = 30, .metrics = {"loss", "accuracy"}, .patience = 3, .checkpoint = "run/model"},
///                                             step, training_data, test, held_out);
///     std::printf("%.3f in epoch %d\n", history.best().validation[0], history.best().epoch);
///
/// It is this loop, which anybody may write instead:
///
///     for (int epoch = 1; epoch <= epochs; ++epoch) {
///         for (const auto& batch : training_data) std::apply(step, batch);     // means of what it fetches are the epoch's training metrics
///         for (const auto& batch : held_out) std::apply(test, batch);          // and these its validation metrics
///         // is it the best epoch? then keep the variables; is it `patience` epochs since the best? then end
///         // say a line, call callbacks, save a checkpoint
///     }
///     // restore the best epoch's variables
///
/// Data is whatever can be gone through again and again and gives tuples of what the callable is fed: minibatches, a data_set, a vector of tuples;
/// or a function of the epoch's number, from 1, that returns such. A metric is the mean over the rows of all batches of a scalar.
///
/// With a checkpoint, a training that was stopped at any instant and is started again ends as one that was not: with the same variables, the same best
/// epoch, and after the same number of epochs, where data of the same epoch is the same again: of minibatches and data sets it is the epoch of that number,
/// which seeds decide. Where a data set is to have one order say so to its shuffle().

namespace tenon {

/// What was measured in an epoch.
struct fit_epoch {
    int epoch = 0;                    ///< from 1
    std::int64_t steps = 0;           ///< of training
    std::vector<double> training{};   ///< by fit_options::metrics
    std::vector<double> validation{}; ///< the same; empty where there is no validation
    double seconds = 0;
    bool is_best = false; ///< of those until then
};

/// What a callback may look at and ask for, for the length of its call.
struct fit_progress {
    session& in;
    const fit_epoch& epoch; ///< of a step: what it has come to
    bool stop = false;      ///< set it, and training ends after this step or epoch
};

struct fit_options {
    int epochs = 1;
    /// What the callables fetch, in order: scalars. The first that is watched tells which epoch is best.
    std::vector<std::string> metrics{"loss"};
    /// Which metric tells which epoch is the best: by validation where there is one, else by training. Empty: the first.
    std::string watched{};
    bool larger_is_better = false; ///< as of an accuracy
    double least_change = 0;       ///< by which an epoch is better than the best, or it is not
    int patience = 0;              ///< ends after so many epochs in a row that are not better; 0: never
    /// At the end all variables are as they were after the best epoch, slots and global_step() too; else as they were after the last, which is what
    /// checkpoints have: save_variables() writes the best.
    bool restore_best = true;
    /// Saved before the first epoch and after every one, as of a saver, "run/model", with the number of epochs, in the variable "fit_epochs"; and in the
    /// middle of one that a callback or a signal ends. Empty: nothing is. Of one training at a time: where another one saves there, too, a line says so.
    std::string checkpoint{};
    int keep = 3; ///< checkpoints, and beside them the best epoch's
    /// Goes on where the last one is, where there is one; of an epoch that was left in its middle it leaves out the rows that were had. The best
    /// epoch and the patience that is used up are those of before, unless other metrics are measured, or the best is another one's, or the checkpoint
    /// is of a Tenon that did not save them: then the best is one of the epochs that follow.
    bool resume = true;
    /// Goes on also where the checkpoint is of another optimiser or model: takes what fits, and says which variables begin anew; the best epoch is then one
    /// of those that follow. Without it that is an error which names them.
    bool partial = false;
    /// Swapped in for validation, and for what is kept as the best epoch's. It outlives the call.
    const moving_average* average = nullptr;
    bool check_finite = true; ///< a training metric that is not finite is a failed_precondition_error
    bool progress = true;     ///< a bar on standard error, where that is a terminal
    hook_log log{};           ///< a line an epoch; not set: standard error
    /// Called after each step, and after each epoch before it is saved, with what they do to variables. What they throw comes out of fit, which leaves the
    /// variables as they are then; of epochs, after it was saved.
    std::vector<shared_function<void(fit_progress&)>> after_step{};
    std::vector<shared_function<void(fit_progress&)>> after_epoch{};
};

struct fit_history {
    std::vector<std::string> metrics{};
    std::vector<fit_epoch> epochs{};
    int best_epoch = 0; ///< 0: there was none
    bool stopped_early =
        false; ///< before the last epoch: of patience, a callback or a signal (train/session/stop_signal.hpp)
    /// The best epoch, if need be of those before what was resumed; throws failed_precondition_error where there was none.
    const fit_epoch& best() const;
    fit_epoch best_before{}; ///< the best epoch of those before what was resumed; its number is 0: there was none
};

namespace detail {

/// Told of each batch: its rows and what was fetched, of one without rows before it is. False: no more are wanted.
using batch_listener = function_ref<bool(std::int64_t rows, const std::vector<double>& values)>;
/// Goes through the data of an epoch, without so many of its first rows.
using data_pass = function_ref<void(int epoch, std::int64_t without, batch_listener each)>;

/// Throws where the callable for `whose` data does not fetch a scalar for each metric.
void check_metrics(const fit_options& o, const char* whose, std::size_t scalars);
template <class X> void check_metrics_of(const fit_options&, const char*, const X&) {} // known when it is run
template <class Feeds, class... F>
void check_metrics_of(const fit_options& o, const char* whose, const callable<Feeds, fetch_list<F...>>&) {
    check_metrics(o, whose, (std::size_t{0} + ... + std::size_t{!std::is_same_v<F, operation>}));
}
fit_history fit(session& s, const fit_options& o, data_pass train, const data_pass* validate);
double scalar_of(const any_array& value);

template <class B> std::int64_t rows_of_batch(const B& first) {
    if constexpr (requires { first.extents(); }) return first.extents().rank() > 0 ? first.extents()[0].size : 1;
    else return 1;
}
template <class X> struct is_callable : std::false_type {}; // whose mistakes are said where it is called
template <class Feeds, class Fetches> struct is_callable<callable<Feeds, Fetches>> : std::true_type {};
// By hand where std::apply would do: so a batch that does not fit is said in few lines.
template <class Step, class Batch, std::size_t... I>
bool run_batch(const Step& step, std::int64_t& without, batch_listener each, const Batch& values,
               std::index_sequence<I...>) {
    const std::int64_t rows = rows_of_batch(std::get<0>(values));
    if (without > 0) return without -= rows, true;
    if (rows == 0) return each(0, {});
    constexpr bool runs =
        std::disjunction_v<is_callable<Step>, std::is_invocable<const Step&, const std::tuple_element_t<I, Batch>&...>>;
    static_assert(runs, "tenon::fit: what trains is a callable: sess.callable(feeds(x, y), fetches(train, loss))");
    std::vector<double> numbers;
    if constexpr (runs)
        std::apply([&](const auto&... f) { (numbers.push_back(scalar_of(f.untyped())), ...); },
                   step(std::get<I>(values)...));
    return each(rows, numbers);
}
template <class Batch> decltype(auto) values_of_batch(const Batch& b) {
    if constexpr (requires { std::get<0>(b); }) return (b);
    else return std::tuple<const Batch&>(b);
}
// What gives batches: a range whose elements are no numbers, or a function of the epoch's number.
template <class Data> inline constexpr bool is_gone_through = std::is_invocable_v<Data&, int> || requires(Data& d) {
    d.begin();
    d.end();
    requires !std::is_arithmetic_v<std::remove_cvref_t<decltype(*d.begin())>>;
};
// Minibatches, data sets, and what has epochs as they do.
template <class Data> inline constexpr bool has_numbered_epochs = requires(Data& d, std::uint64_t number) {
    d.epoch(number).begin();
};
template <class Step, class Data> auto pass_over(const fit_options& o, const Step& step, Data& data) {
    std::uint64_t begun = 0; // before; of what goes on in another program, numbers are from the first one's beginning
    if constexpr (requires { begun = data.epochs(); })
        if (o.checkpoint.empty() || !o.resume) begun = data.epochs();
    return [=, &step, &data](int epoch, std::int64_t without, batch_listener each) {
        const auto go_through = [&](auto&& batches) {
            for (const auto& b : batches) {
                const auto& values = values_of_batch(b);
                using places = std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(values)>>>;
                if (!run_batch(step, without, each, values, places())) return;
            }
        };
        if constexpr (std::is_invocable_v<Data&, int>) go_through(data(epoch));
        else if constexpr (has_numbered_epochs<Data>)
            go_through(data.epoch(begun + static_cast<std::uint64_t>(epoch) - 1));
        else go_through(data);
    };
}

} // namespace detail

/// Trains, and returns what was measured. Variables are initialised where none has a value; failed_precondition_error where some have and some have
/// not. Throws invalid_argument_error where an option makes no sense, the callables do not fetch the metrics, or a batch has no rows: means of
/// nothing are NaN, and so would be what is trained on them.
// One function, so that a compiler that refuses a call has little to say. `held_out`: a callable and what it is run on, or nothing.
template <class Step, class Data, class... HeldOut>
fit_history fit(session& s, const fit_options& o, const Step& step, Data&& data, HeldOut&&... held_out) {
    constexpr bool good = detail::is_gone_through<Data> && (sizeof...(held_out) == 0 || sizeof...(held_out) == 2);
    static_assert(
        good,
        "tenon::fit: it takes a callable and its data, and after them, where there is validation, a callable and its "
        "data: minibatches({.size = 32}, xs, ys), a data set, or a function of the epoch that gives one");
    if constexpr (!good) return {};
    else {
        detail::check_metrics_of(o, "training", step);
        const auto train = detail::pass_over(o, step, data);
        if constexpr (sizeof...(held_out) == 0) return detail::fit(s, o, train, nullptr);
        else {
            detail::check_metrics_of(o, "validation", std::get<0>(std::tie(held_out...)));
            const auto check = detail::pass_over(o, held_out...);
            const detail::data_pass validate = check;
            return detail::fit(s, o, train, &validate);
        }
    }
}

namespace detail {
template <class X> fit_history fit_takes() {
    static_assert(is_mistake<X>, "tenon::fit: a session, options, a callable that trains, and its data: "
                                 "fit(sess, {.epochs = 10}, step, batches)");
    return {};
}
} // namespace detail
// Mistakes: less, or in another order.
template <auto..., class X = void>
fit_history fit(detail::any_argument, detail::any_argument, detail::any_argument, const fit_options&) {
    return detail::fit_takes<X>();
}
template <auto..., class X = void>
fit_history fit(detail::any_argument = {}, detail::any_argument = {}, detail::any_argument = {},
                detail::any_argument = {}, detail::any_argument = {}) {
    return detail::fit_takes<X>();
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/fit.ipp>
#endif
