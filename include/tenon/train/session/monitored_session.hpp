#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/core/function_ref.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/session/session_hook.hpp>

/// A session that training can rely on: it begins with variables that have values, saves them, and lives through the loss of tasks.
///
///     tn::monitored_session sess({.target = worker.target(), .is_chief = worker_number == 0, .checkpoint = "run/model",
///                                 .hooks = {tn::stop_at_step(10'000), tn::nan_guard(loss), tn::log_tensors({loss})}});
///     while (!sess.should_stop()) sess.run(tn::feed(x, images), tn::feed(y, labels), train);
///     sess.close();
///
/// **How it begins.** Where all variables (the collection global_variables) have values, it goes on with those, whoever gave them:
/// they are newer than any checkpoint. Where one has none, the chief restores all from the last checkpoint, or, where there is none,
/// initialises all: values of different moments are never mixed. Others wait until all have values, and say every few seconds for
/// whom and for what. Variables of the collection local_variables (train/optimize/compression.hpp) are each process's own: it initialises those of
/// them that have no value, and all where the others were restored or initialised.
///
/// **The chief.** Of several that train the same variables the chief is who holds a lease, on the task of the first of them and by
/// that task's clock. Those with `is_chief` claim it from the beginning; when its holder is gone, and its time has passed, the
/// others do, too. So training goes on without its first chief: another one restores and saves from then on.
///
/// **Lost tasks.** Where a step fails because a task is lost or was restarted (lost_task_error), and for no other error, the session is
/// closed, and another one opened, again and again, in growing intervals, until it has been tried for recovery_timeout seconds. That
/// begins as above: what a restarted task held is gone, so the chief restores; where only the connection was lost, or a task
/// without variables, the live values are gone on with. What becomes of the step that failed:
/// - where the variables were restored or initialised, nothing of it is left, and it is run again;
/// - where they are live, it may have been applied or not, and is not repeated: it is applied once at most. run() returns where it
///   fetches nothing, else it is an unknown_outcome_error, and the session is open: the next step may be run. loop() does that.
/// **Signals.** Where stop_on_signals() (train/session/stop_signal.hpp) has been called, a signal requests a stop: should_stop() is true after the
/// step that is under way, and close() saves. A step that does not end within stop_grace, since it waits for others that have stopped, is
/// stopped: run() throws cancelled_error, which loop() takes for a clean end.
///
/// Random numbers go on: with those of the checkpoint where it was restored, else with those after the step that was lost.

namespace tenon {

/// A step was lost with a task, and it is not known whether it was applied. The session is open again.
class unknown_outcome_error : public aborted_error {
public:
    using aborted_error::aborted_error;
};

struct monitored_session_options {
    /// As of session: "tenon://host:port"; empty: in this process, on `tasks`, or one of its own.
    std::string target{};
    std::vector<task> tasks{};
    /// Of each session that it opens: device_filters, limits, ..
    session_options session{};
    /// One of those that train together: it initialises, restores and saves. Others do so when it is gone.
    bool is_chief = true;
    /// Seconds for which the chief is not heard of before another is the chief, where tasks are shared with others (`target` or
    /// `tasks` is given); 0: whoever is_chief says is, for ever.
    double chief_lease = 10;
    /// Where checkpoints are, as of a saver: "run/model". Empty: there are none.
    std::string checkpoint{};
    int keep = 5; ///< of them
    /// Variables that the checkpoint has not, or of another type or other sizes, are initialised, each by its own initial value, and the
    /// log (or standard error) says which; else that is an error. For a program that has more variables than the one that saved.
    bool partial = false;
    /// Where the last checkpoint is damaged, or their list, the last that is whole is restored, and the log says so; else it is an error.
    bool fall_back = false;
    /// When the chief saves, every 600 seconds where nothing is given; and once the variables were initialised, and at close().
    hook_period save_every{};
    /// Initialises the variables; not set: initialize_variables() of the graph.
    operation initializer{};
    /// Run by each, chief or not, whenever a session was opened: for what is its own. Not set: nothing.
    operation local_initializer{};
    /// Seconds within which the first session must be open, its variables with values.
    double open_timeout = 600;
    /// Seconds for which a lost session is tried to be opened again; 0: what was lost is an error of the step.
    double recovery_timeout = 600;
    /// Seconds that a step under way on `target` or `tasks` has to end, when a signal asks for a stop.
    double stop_grace = 5;
    /// Starts the graph's collected queue runners with each session, and ends them with it.
    bool start_queue_runners = true;
    std::vector<std::shared_ptr<session_hook>> hooks{};
    /// Seconds, for periods; not set: the steady clock.
    shared_function<double()> clock{};
    /// Lines about what was initialised, restored, saved, lost and opened again, and who is the chief; not set: nobody is told, but
    /// for who waits long for a chief, which standard error is.
    hook_log log{};
};

/// Of the graph that was current when it was made. One thread runs steps; request_stop and should_stop are of any.
class monitored_session {
public:
    /// Returns when the session is open and its variables have values. Throws what the last try to open it threw, unavailable_error
    /// mostly; deadline_exceeded_error, naming variables that have no value, where no chief gives them one;
    /// invalid_argument_error where an option makes no sense.
    explicit monitored_session(monitored_session_options o = {});
    /// As close(), unless an exception is on its way: then nothing is saved. What goes wrong is not told.
    ~monitored_session();
    monitored_session(monitored_session&&) = delete;

    /// As session::run, with hooks. failed_precondition_error once a stop was requested.
    template <class... F> auto run(F&&... arguments) {
        static_assert((detail::is_runnable<F> && ...), "tenon::monitored_session: a run takes tensors and operations, "
                                                       "and feed(x, value) for each that is fed");
        if constexpr (detail::any_ill_shaped<F...>)
            return detail::single(detail::ill_shaped_results<std::remove_cvref_t<F>...>());
        else {
            detail::run_request r;
            (detail::add_fetch(r, std::forward<F>(arguments)), ...);
            std::vector<any_array> values = run_request(std::move(r));
            return detail::single(detail::results_t<std::remove_cvref_t<F>...>::of(values.data()));
        }
    }
    /// The same for lists known at run time.
    std::vector<any_array> run_untyped(std::vector<fed_value> feeds, const std::vector<any_tensor>& fetches,
                                       const std::vector<operation>& targets = {});

    /// Calls body(), which runs a step or several, until should_stop(). An end_of_data_error is a clean stop;
    /// an unknown_outcome_error ends that call, and the next begins.
    template <class Body> void loop(Body&& body) {
        while (!should_stop()) turn(body);
    }

    bool should_stop() const noexcept;
    /// It is the chief at this moment.
    bool is_chief() const;
    void request_stop() noexcept;
    /// How many sessions it has opened.
    int sessions_opened() const noexcept;
    /// The one that is open now, for what is no step of the training. It is another one after a recovery.
    tenon::session& session();

    /// Calls the hooks' end(), saves where it is the chief, stops queue runners, and closes the session. Further calls do nothing.
    /// Throws what those throw, the first of it, and what a queue runner threw.
    void close();

private:
    struct state;
    std::vector<any_array> run_request(detail::run_request&& r);
    void turn(function_ref<void()> body);
    std::unique_ptr<state> state_;
};

/// The names of the variables, of these or of all that the session's graph has, that have no value.
std::vector<std::string> uninitialized_variables(session& s, const std::vector<any_tensor>& variables = {});

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/session/monitored_session.ipp>
#endif
