#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/core/options.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/memory/memory_account.hpp>
#include <tenon/runtime/device/device_attributes.hpp>
#include <tenon/runtime/place/explanation.hpp>
#include <tenon/runtime/session/feed.hpp> // before what includes it: compilers list the way to a complaint
#include <tenon/runtime/session/backend.hpp>
#include <tenon/runtime/session/callable.hpp>
#include <tenon/runtime/session/options.hpp>
#include <tenon/runtime/session/report.hpp>
#include <tenon/runtime/session/task.hpp>

/// Running a graph.
///
///     tn::session sess;
///     sess.run(tn::initialize_variables());
///     auto loss_value = sess.run(tn::feed(x, images), tn::feed(y, labels), loss);   // array<float, shape<>>
///     auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss));         // planned once
///     auto [l] = step(images, labels);

namespace tenon {

class timed_kernel;

/// Runs the graph that was current when it was made. Thread-safe; its variables end with it, or with its task. What was moved from says
/// so: every function is a failed_precondition_error then.
class session {
public:
    /// Of what is given, in this order: where it runs, else in this process; the graph, else the current one; options. It runs on a task that others
    /// share, whose devices, threads and resources it uses; of the options, those that task_options has are left to the task. Or on a server,
    /// "tenon://host:port", a server's target() ("": in this process), which needs the library tenon::net: invalid_argument_error for what is no
    /// target, unavailable_error where no server answers in time, or one that it needs is missing, naming it (SEMANTICS 24).
    /// invalid_argument_error where an option makes no sense, or is the task's, naming it.
    // One function, so that a compiler that refuses a call has little to say.
    template <class First = session_options, class Second = session_options>
    explicit session(const First& first = {}, const Second& second = {}, const session_options& o = {}) {
        constexpr bool by_options = std::is_base_of_v<session_options, Second>;
        constexpr bool by_graph = std::is_base_of_v<graph, Second>;
        constexpr bool here = std::is_base_of_v<session_options, First> || std::is_base_of_v<graph, First>;
        constexpr bool there = std::is_base_of_v<task, First> || std::is_base_of_v<std::vector<task>, First> ||
                               std::is_convertible_v<const First&, std::string>;
        static_assert(
            (here && by_options) || (there && (by_graph || by_options)),
            "tenon::session: it takes a task, several, or a server's target, a graph, and options, all of which may be "
            "left out, in this "
            "order: session(), session({.intra_op_threads = 1}), session(graph, {.intra_op_threads = 1}), "
            "session(\"tenon://host:port\", graph)");
        if constexpr (std::is_base_of_v<session_options, First> && by_options) open(graph::current(), first);
        else if constexpr (std::is_base_of_v<graph, First> && by_options) open(first, second);
        else if constexpr (there && by_graph) open(first, second, o);
        else if constexpr (there && by_options) open(first, graph::current(), second);
    }
#if TENON_TAKES_BRACES_FOR_ARRAYS
    explicit session(const session_options& o) { open(graph::current(), o); }
    session(const graph& g, const session_options& o) { open(g, o); }
    TENON_OTHER_BRACES(explicit session(detail::other_braces_than<session_options, N>&));
    TENON_OTHER_BRACES(session(const graph&, detail::other_braces_than<session_options, N>&));
#endif
    /// A session on several tasks of this process, whose names (task_options) are different. The first is the one where it is:
    /// what is fed and fetched is there, and nodes that ask for no task. Resources that ask for none are on the first task by
    /// name (SEMANTICS 3). Each task runs its part of a step; values between them are handed on in memory.
    session(const std::vector<task>& tasks, const graph& g, const session_options& o = {}) { open(tasks, g, o); }
    /// Stops its steps, as close() does. Callables that it made may still be called.
    ~session();
    session(session&&) noexcept = default;
    session& operator=(session&& other) noexcept;

    /// Runs what is fetched, with what is fed (feed(x, value)), in any order of arguments: the array of the one
    /// tensor fetched, or a tuple of several, or nothing.
    template <class... F> auto run(F&&... arguments) { return run_for(0, std::forward<F>(arguments)...); }
    /// The same with a time limit in seconds, 0: the session's operation_timeout. A step that takes longer, waiting or
    /// computing, is a deadline_exceeded_error that says what it was waiting for; variables, session and graph stay
    /// usable (SEMANTICS 17). A limit that is negative or not a number is an invalid_argument_error.
    template <class... F> auto run_for(double seconds, F&&... arguments) {
        static_assert((detail::is_runnable<F> && ...), "tenon::session: a run takes tensors and operations, and "
                                                       "feed(x, value) for each that is fed");
        if constexpr (!(detail::is_runnable<F> && ...)) return ill_shaped{};
        else if constexpr (detail::any_ill_shaped<F...>)
            return detail::single(detail::ill_shaped_results<std::remove_cvref_t<F>...>());
        else {
            detail::run_request r;
            r.timeout = seconds;
            (detail::add_fetch(r, std::forward<F>(arguments)), ...);
            std::vector<any_array> values = live().run(std::move(r));
            return detail::single(detail::results_t<std::remove_cvref_t<F>...>::of(values.data()));
        }
    }
    /// The same for lists known at run time.
    std::vector<any_array> run_untyped(std::vector<fed_value> feeds, const std::vector<any_tensor>& fetches,
                                       const std::vector<operation>& targets = {});

    template <class... X, class... F>
    tenon::callable<feed_list<X...>, fetch_list<F...>> callable(const feed_list<X...>& fed, const fetch_list<F...>& f) {
        using result = tenon::callable<feed_list<X...>, fetch_list<F...>>;
        if constexpr (detail::any_ill_shaped<X..., F...>) return result(nullptr);
        else {
            return result(live().make_callable(fed.tensors, f.request));
        }
    }

    /// The same for lists known at run time.
    untyped_callable callable_untyped(const std::vector<any_tensor>& feeds, const std::vector<any_tensor>& fetches,
                                      const std::vector<operation>& targets = {});

    template <class... A> tenon::callable<feed_list<ill_shaped>, fetch_list<ill_shaped>> callable(const A&...) {
        static_assert(detail::is_mistake<A...>, "tenon::session::callable: it takes two lists: callable(feeds(x, ..), "
                                                "fetches(loss, ..))");
        return tenon::callable<feed_list<ill_shaped>, fetch_list<ill_shaped>>(nullptr);
    }

    /// What a run of these feeds and fetches will take, without running it.
    template <class... F> step_report report(F&&... arguments) {
        static_assert((detail::is_runnable<F> && ...), "tenon::session: a run takes tensors and operations, and "
                                                       "feed(x, value) for each that is fed");
        detail::run_request r;
        (detail::add_fetch(r, std::forward<F>(arguments)), ...);
        return live().report(std::move(r));
    }

    /// The same for lists known at run time.
    step_report report_untyped(std::vector<fed_value> feeds, const std::vector<any_tensor>& fetches,
                               const std::vector<operation>& targets = {});

    /// Where each node of such a run is placed, and why; what crosses between devices. Places them, as a run does. Bytes of
    /// sizes that only the step tells are those of the last step of this request, else the most that they can be.
    template <class... F> placement_explanation explain_placement(F&&... arguments) {
        static_assert((detail::is_runnable<F> && ...), "tenon::session: a run takes tensors and operations, and "
                                                       "feed(x, value) for each that is fed");
        detail::run_request r;
        (detail::add_fetch(r, std::forward<F>(arguments)), ...);
        return live().explain(std::move(r));
    }

    /// The same for lists known at run time, where nothing is fed, and where something is.
    placement_explanation explain_placement_untyped(const std::vector<any_tensor>& fetches,
                                                    const std::vector<operation>& targets = {});
    placement_explanation explain_placement_untyped(std::vector<fed_value> feeds,
                                                    const std::vector<any_tensor>& fetches,
                                                    const std::vector<operation>& targets = {});

    /// For people: the kernels that a step of these feeds and fetches runs, after all that the planner joins: for each its device, operands and
    /// results, the tape of an elementwise one, what runs it (on a card the source in CUDA C++), and which operand is not part of the same
    /// pass, and why. Placeholders whose sizes are known need not be fed. What waits stands among them as it is. For sessions in this process.
    template <class... F> std::string emit(F&&... arguments) {
        static_assert((detail::is_runnable<F> && ...), "tenon::session: a run takes tensors and operations, and "
                                                       "feed(x, value) for each that is fed");
        detail::run_request r;
        (detail::add_fetch(r, std::forward<F>(arguments)), ...);
        return live().emit(std::move(r));
    }

    /// The kernel of the node that computes the one tensor given, on the device where such a step runs it, with the operands that the step
    /// computes for it: run by itself, it is what benchmark() times (debug/benchmark.hpp). invalid_argument_error where the node is no
    /// kernel of its operands alone: a variable's, a queue's, a random one's, one that waits. For sessions in this process.
    template <class... F> std::shared_ptr<timed_kernel> kernel_of(F&&... arguments) {
        static_assert((detail::is_runnable<F> && ...), "tenon::session: a run takes tensors and operations, and "
                                                       "feed(x, value) for each that is fed");
        detail::run_request r;
        (detail::add_fetch(r, std::forward<F>(arguments)), ...);
        return live().kernel_of(std::move(r));
    }

    session_statistics statistics() const;
    /// The devices, /device:CPU:0 first (SEMANTICS 12).
    std::vector<device_attributes> list_logical_devices() const;
    /// How much of a device's memory is in use: by variables, constants, and the memory of plans that are kept.
    /// not_found_error where there is no such device, naming those that there are.
    tenon::memory_info memory_info(const device_name& device) const;
    /// How often each random op has run (ops/random/random.hpp), by the name of its node, those that have not left out. Of a session on a server:
    /// as its client knows it, who counts the steps that ended well, and those that were lost with a task, since they may have run.
    std::vector<run_count> random_runs() const;
    /// Their numbers go on from there, those of others where they are: as savers do with what a checkpoint says (train/checkpoint/saver.hpp).
    /// invalid_argument_error where a count is more than 2^62.
    void set_random_runs(const std::vector<run_count>& counts);
    /// While it is set, every node that runs is recorded; nullptr ends it. Returns when no step writes to the one that
    /// was set before, which may end then; steps that begin meanwhile are not recorded. From within a step that is
    /// recorded, which it would wait for, it is a failed_precondition_error; kernels on other threads must not call it.
    void set_trace(trace* t);
    /// While it is set, the times of all nodes and transfers that run are added to it; nullptr ends it. Steps are then
    /// planned anew, so that each node has a time of its own: nothing is fused or folded, and the host's nodes run one
    /// after another. Returns as set_trace does.
    void set_measurements(cost_measurements* m);
    /// The threads that keep this queue filled were started (queue_runner). Who waits too long for a queue that has such, and
    /// they were not, is told so (SEMANTICS 37).
    void note_started_runner(const any_tensor& queue);
    /// Its steps, whether they wait or compute, fail with cancelled_error; what they waited for is as if they had not come. One that has begun
    /// to update variables goes on to its end. Later runs are failed_precondition_error: "Session is closed." (SEMANTICS 19)
    void close();
    const graph& bound_graph() const;
    /// Forgets what these containers hold, on all tasks of a server's cluster; as task::reset does (SEMANTICS 25).
    static void reset(const std::string& target, const std::vector<std::string>& containers = {""});

private:
    void open(const graph& g, const session_options& o);
    void open(const task& t, const graph& g, const session_options& o);
    void open(const std::vector<task>& tasks, const graph& g, const session_options& o);
    void open(const std::string& target, const graph& g, const session_options& o);
    /// failed_precondition_error where the session was moved from.
    detail::session_state& live() const {
        if (!state_) detail::moved_from("session");
        return *state_;
    }
    std::shared_ptr<detail::session_state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/session/session.ipp>
#endif
