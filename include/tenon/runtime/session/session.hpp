#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/array.hpp>
#include <tenon/core/device_name.hpp>
#include <tenon/core/nested_values.hpp>
#include <tenon/core/shared_function.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/kernel/memory_account.hpp>
#include <tenon/kernel/memory_policy.hpp>
#include <tenon/runtime/device/device_attributes.hpp>
#include <tenon/runtime/place/explanation.hpp>

/// Running a graph.
///
///     tn::session sess;
///     sess.run(tn::initialize_variables());
///     auto loss_value = sess.run(tn::feed(x, images), tn::feed(y, labels), loss);   // array<float, shape<>>
///     auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss));         // planned once
///     auto [l] = step(images, labels);

namespace tenon {

class trace;
class gpu_backend;
class cost_measurements;

struct session_options {
    /// Threads that one kernel may be split over, the caller's included; 0: all cores (SEMANTICS 14).
    int intra_op_threads = 0;
    /// Nodes of one step that may run at the same time; 0: as many as there are threads, 1: one after another.
    int inter_op_threads = 0;
    /// A pool of its own instead of the one that the first session of the process made.
    bool use_per_session_threads = false;
    /// Seconds a run may take, 0: no limit. Exceeded: deadline_exceeded_error (SEMANTICS 17).
    double operation_timeout = 0;
    /// Stops at what is fed, the constant, or the first node's result that is not finite, and names it; a variable
    /// that would be assigned it keeps its value. Slow: nothing is fused or folded.
    bool check_numerics = false;
    /// Denormal numbers (of float32 those below 1.2e-38) are 0, as operands and as results, in all kernels that steps of this
    /// session run, on every thread that runs them; the thread that runs a step computes afterwards as before. Where data
    /// have many, processors for which each is an exception are many times faster so. GPUs do as they do.
    bool flush_denormals = false;
    /// Bytes that variables and steps may take together; 0: no limit. Memory kept for further steps counts, and is
    /// given back, least recently used first, where a step or a variable needs it. A step that needs more than the
    /// variables leave is refused before it runs, and a variable that does not fit before it is made:
    /// resource_exhausted_error, which names what holds most (SEMANTICS 11). Of CPU devices that are several, each has
    /// this limit.
    std::size_t memory_limit = 0;
    /// The machine's CPU may be offered as several devices, /cpu:0, /cpu:1, ...: each has variables and memory of its
    /// own, all share the threads.
    int cpu_devices = 1;
    /// The GPUs: nullptr, those of a linked GPU library; or simulated_gpu(count, bytes).
    std::shared_ptr<const gpu_backend> gpus = nullptr;
    /// How much of a GPU's memory is used (SEMANTICS 11).
    memory_policy gpu_memory = {};
    /// Nodes that ask for a device that is not there, or has no kernel for them, run on the CPU (SEMANTICS 7).
    bool allow_soft_placement = false;
    /// Tells the devices when the session is made, and each node's when it is first placed (SEMANTICS 8).
    bool log_device_placement = false;
    /// Who is told; where it is not set, standard error.
    shared_function<void(const std::string& line)> placement_log = {};
    /// What nodes and transfers took in earlier runs: what the rules leave open is then placed where the step takes least
    /// time and fits (cost_placer.hpp says how). Devices are chosen when a node is first placed, for the step in which it
    /// is then: explain_placement(step) before the initialisers run lets the step decide where its variables lie.
    /// nullptr: the rules decide.
    std::shared_ptr<const tenon::cost_measurements> cost_measurements = nullptr;
    bool fold_constants = true;
    bool fuse = true;
    /// Plans that are kept for further steps, one for each set of feeds, their sizes, and fetches; those not used for
    /// the longest time go first, and earlier where their memory is a quarter of the machine's. A plan takes about a
    /// millisecond to make, and keeps the memory of its step. What a callable ran last it keeps besides.
    int kept_plans = 64;
};

/// What a session keeps between runs.
struct session_statistics {
    int threads = 1;                ///< of its pool, the caller's included
    int plans = 0;                  ///< kept for further steps (session_options::kept_plans)
    std::size_t plan_bytes = 0;     ///< memory of their steps
    std::size_t variable_bytes = 0; ///< of all variables
};

/// What a step takes of one device.
struct device_report {
    std::string device;             ///< "/device:GPU:0"
    std::size_t peak_bytes = 0;     ///< of values between nodes, of constants, and of what is fetched
    std::size_t arena_bytes = 0;    ///< of values between nodes
    std::size_t lower_bound = 0;    ///< the largest set of those that lives at one time
    std::size_t variable_bytes = 0; ///< of all variables of the session there: comes on top of peak_bytes
};

/// What a step will do and take, known before it runs.
struct step_report {
    int nodes = 0;                  ///< kernels that run
    int folded = 0;                 ///< nodes computed once, when the step was planned
    int fused = 0;                  ///< nodes that run as part of another
    int transfers = 0;              ///< tensors that cross from one device to another
    std::size_t peak_bytes = 0;     ///< of values between nodes, and of what is fetched; without variables
    std::size_t arena_bytes = 0;    ///< of values between nodes
    std::size_t lower_bound = 0;    ///< the largest set of those that lives at one time
    std::size_t variable_bytes = 0; ///< of all variables of the session: comes on top of peak_bytes
    std::vector<device_report> devices;
    std::vector<std::string> order; ///< "name (op)"
};

/// A value for a tensor, in one run.
struct fed_value {
    any_tensor tensor;
    any_array value;
};

namespace detail {

class session_state;
class callable_state;

/// What is asked of a step. Not inline, as what follows: each run in a program would repeat it.
struct fetch_request {
    fetch_request();
    ~fetch_request();
    fetch_request(const fetch_request&);
    fetch_request(fetch_request&&) noexcept;
    fetch_request& operator=(fetch_request&&) noexcept;
    std::vector<any_tensor> fetches;
    std::vector<operation> targets;
};
struct run_request : fetch_request {
    run_request();
    ~run_request();
    run_request(run_request&&) noexcept;
    run_request& operator=(run_request&&) noexcept;
    std::vector<fed_value> feeds;
    double timeout = 0; ///< seconds; 0: the session's
};

template <class A> inline constexpr bool is_array = false;
template <class T, class S> inline constexpr bool is_array<array<T, S>> = true;
template <class T, class S> inline constexpr bool is_array<const_array<T, S>> = true;
template <class A>
concept HostArray = is_array<A>;

struct feed_rule {
    static constexpr const char* name = "feed";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (in[0].element != in[1].element) return fault::element_types_differ;
        const merged_extents m = equal_shapes(in[0].extents, in[1].extents);
        return m.what == fault::none ? inferred(in[0]) : inferred(m.what);
    }
};

// Checks by type what is known by type; the rest is checked in the run.
template <class X, class A> constexpr bool check_feed() {
    if constexpr (std::is_same_v<A, any_array>) return true;
    else if constexpr (is_array<A>) {
        using T = typename A::value_type;
        if constexpr (requires { typename A::shape_type; }) {
            using verdict =
                verdict_of<feed_rule, without_attributes, operand_of_t<X>, operand_type<T, typename A::shape_type>>;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            return verdict::fits;
        } else {
            static_assert(std::is_same_v<T, typename X::element_type>,
                          "tenon::feed: the array's element type is not the tensor's");
            return std::is_same_v<T, typename X::element_type>;
        }
    } else {
        constexpr bool fits = X::shape_type::rank == 0 && Literal<A, typename X::element_type>;
        static_assert(fits, "tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind: "
                            "none with a fraction where the elements are integers");
        return fits;
    }
}

// A view of what is fed; a number gets memory of its own.
template <class X, class A> any_array feed_view(const A& a) {
    if constexpr (std::is_same_v<A, any_array>) return a.share();
    else if constexpr (is_array<A>) return a.untyped().share();
    else {
        any_array scalar(element_type_of<typename X::element_type>, {});
        *static_cast<typename X::element_type*>(scalar.data()) = nested<typename X::element_type>(a).value();
        return scalar;
    }
}

template <class F> inline constexpr bool is_fetched_tensor = std::is_base_of_v<any_tensor, F> || OperandOrIllShaped<F>;

// What fetching an F, no operation, gives.
template <class F> struct fetched { using type = array<typename F::element_type, typename F::shape_type>; };
template <> struct fetched<any_tensor> { using type = any_array; };
template <> struct fetched<ill_shaped> { using type = ill_shaped; };

template <class... A> struct fetched_arrays {
    using tuple = std::tuple<A...>;
    static tuple of(any_array* values) { return at(values, std::index_sequence_for<A...>{}); }
    template <std::size_t... I> static tuple at([[maybe_unused]] any_array* values, std::index_sequence<I...>) {
        return tuple(A(std::move(values[I]))...);
    }
};
// What a run gives: an array for each tensor in F..., behind those of Done.
template <class Done, class... F> struct results_of { using type = Done; };
template <class... A, class F, class... Rest> struct results_of<fetched_arrays<A...>, F, Rest...> {
    static constexpr auto next() {
        if constexpr (is_fetched_tensor<F>)
            return results_of<fetched_arrays<A..., typename fetched<F>::type>, Rest...>{};
        else return results_of<fetched_arrays<A...>, Rest...>{};
    }
    using type = typename decltype(next())::type;
};
template <class... F> using results_t = typename results_of<fetched_arrays<>, F...>::type;

template <class Tuple> auto single(Tuple&& t) {
    if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> == 0) return;
    else if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> == 1) return std::get<0>(std::move(t));
    else return std::move(t);
}

// The results of a step with a mistake in it: as many as there would be.
template <class... F> auto ill_shaped_results() {
    return std::tuple_cat(std::conditional_t<is_fetched_tensor<F>, std::tuple<ill_shaped>, std::tuple<>>{}...);
}

void add_fetch(fetch_request& r, const any_tensor& t);
void add_fetch(fetch_request& r, const operation& o);
template <class E>
    requires requires(const E& e) { e.materialize(); }
void add_fetch(fetch_request& r, const E& e) { add_fetch(r, static_cast<const any_tensor&>(e.materialize())); }
inline void add_fetch(run_request& r, fed_value&& f) { r.feeds.push_back(std::move(f)); }
inline void add_fetch(run_request& r, const fed_value& f) { r.feeds.push_back({f.tensor, f.value.share()}); }
inline void add_fetch(fetch_request&, ill_shaped) {}
inline void add_fetch(run_request&, ill_shaped) {}
/// What can be fetched, and what a run takes.
template <class F>
inline constexpr bool is_fetchable = std::is_convertible_v<F, const any_tensor&> || std::is_convertible_v<F, operation>;
template <class F>
inline constexpr bool is_runnable = is_fetchable<F> || std::is_same_v<std::remove_cvref_t<F>, fed_value>;
template <class F>
    requires(!is_fetchable<const F&>)
void add_fetch(fetch_request&, const F&) {} // who runs it has complained

std::vector<any_array> run_once(session_state& s, run_request&& r);

/// A value for a scalar, or values for a tensor, of a type known at run time only.
fed_value feed_values(const any_tensor& x, const nested_value& values);

} // namespace detail

/// A value for x in one run: an array, or a number for a scalar, which x's element type must hold: a floating number
/// for integers does not compile, an integer out of range is an invalid_argument_error. A wrong element type or shape
/// does not compile where it is known by type, and is an invalid_argument_error with both shapes where not (SEMANTICS
/// 16).
template <OperandOrIllShaped X, class A> fed_value feed(const X& x, const A& value) {
    if constexpr (detail::any_ill_shaped<X, A>) return {};
    else if constexpr (detail::check_feed<X, A>()) return {detail::as_tensor(x), detail::feed_view<X>(value)};
    else return {};
}
/// The same for an untyped tensor: what does not fit is an invalid_argument_error, of an array in the run.
inline fed_value feed(const any_tensor& x, any_array value) { return {x, std::move(value)}; }
template <detail::UntypedTensor X, detail::HostArray A> fed_value feed(const X& x, const A& value) {
    return {x, value.untyped().share()};
}
template <detail::UntypedTensor X> fed_value feed(const X& x, const detail::nested_value& number) {
    return detail::feed_values(x, number);
}
/// Elements in nested braces, which the element type must hold: 300 is none of uint8.
template <detail::UntypedTensor X> fed_value feed(const X& x, std::initializer_list<detail::nested_value> values) {
    return detail::feed_values(x, detail::nested_value(values));
}
template <class X, class A>
    requires(!std::is_convertible_v<const X&, any_tensor>)
fed_value feed(const X&, const A&) {
    static_assert(detail::is_mistake<X>, "tenon::feed: first the tensor that is fed, by its handle, not by its name, "
                                         "then its value: feed(x, value)");
    return {};
}
/// Elements in nested braces: feed(x, {{1, 2}, {3, 4}}).
template <Operand X>
fed_value feed(const X& x, std::initializer_list<detail::nested<typename X::element_type>> values) {
    if constexpr (std::is_same_v<X, ill_shaped>) return {};
    else return {detail::as_tensor(x), array<typename X::element_type, typename X::shape_type>(values).untyped()};
}

/// The tensors that a callable is fed, in order.
template <class... X> struct feed_list { std::vector<any_tensor> tensors; };
template <OperandOrIllShaped... X> feed_list<X...> feeds(const X&... x) {
    if constexpr (detail::any_ill_shaped<X...>) return {};
    else return {{detail::as_tensor(x)...}};
}
template <class... X>
    requires(!(Operand<X> && ...))
feed_list<detail::ill_shaped_for<X>...> feeds(const X&...) {
    static_assert(detail::is_mistake<X...>, "tenon::feeds: it takes the typed tensors that are fed; their values are "
                                            "given where the callable is called");
    return {};
}

/// What a callable fetches, in order: tensors and operations.
template <class... F> struct fetch_list { detail::fetch_request request; };
template <class... F> fetch_list<F...> fetches(const F&... f) {
    static_assert(((detail::is_fetchable<const F&> || std::is_same_v<F, ill_shaped>)&&...),
                  "tenon::fetches: it takes tensors and operations");
    fetch_list<F...> all;
    (detail::add_fetch(all.request, f), ...);
    return all;
}

/// A step that is planned once for each set of sizes and run many times. Returns a tuple of the arrays of the
/// tensors it fetches. Thread-safe.
template <class Feeds, class Fetches> class callable;
template <class... X, class... F> class callable<feed_list<X...>, fetch_list<F...>> {
public:
    explicit callable(std::shared_ptr<detail::callable_state> s) : state_(std::move(s)) {}

    template <class... A> auto operator()(const A&... values) const {
        static_assert(sizeof...(A) == sizeof...(X),
                      "tenon::callable: it takes a value for each tensor in feeds(..), in that order");
        if constexpr (sizeof...(A) != sizeof...(X) || detail::any_ill_shaped<X..., F..., A...>)
            return detail::ill_shaped_results<F...>();
        else if constexpr ((detail::check_feed<X, A>() && ...)) return run(0, values...);
        else return detail::ill_shaped_results<F...>();
    }
    /// The same with a time limit in seconds, 0: the session's. deadline_exceeded_error (SEMANTICS 17).
    template <class... A> auto run_for(double seconds, const A&... values) const {
        static_assert(sizeof...(A) == sizeof...(X), "tenon::callable: after the time limit it takes a value for each "
                                                    "tensor in feeds(..), in that order");
        if constexpr (sizeof...(A) != sizeof...(X) || detail::any_ill_shaped<X..., F..., A...>)
            return detail::ill_shaped_results<F...>();
        else if constexpr ((detail::check_feed<X, A>() && ...)) return run(seconds, values...);
        else return detail::ill_shaped_results<F...>();
    }

private:
    template <class... A> auto run(double seconds, const A&... values) const {
        constexpr std::size_t tensors = (std::size_t{detail::is_fetched_tensor<F>} + ... + 0);
        any_array fetched[tensors > 0 ? tensors : 1];
        if constexpr ((detail::is_array<A> && ...)) {
            const any_array* fed[] = {&values.untyped()..., nullptr};
            run_untyped(fed, fetched, seconds);
        } else {
            const any_array held[] = {detail::feed_view<X>(values)...};
            const any_array* fed[sizeof...(A) + 1] = {};
            for (std::size_t i = 0; i < sizeof...(A); ++i) fed[i] = &held[i];
            run_untyped(fed, fetched, seconds);
        }
        return detail::results_t<F...>::of(fetched);
    }
    void run_untyped(const any_array* const* fed, any_array* fetched, double seconds) const;
    std::shared_ptr<detail::callable_state> state_;
};

namespace detail {
std::shared_ptr<callable_state> make_callable(std::shared_ptr<session_state> s, const std::vector<any_tensor>& feeds,
                                              const fetch_request& r);
void run_callable(callable_state& c, const any_array* const* fed, any_array* fetched, double timeout);
} // namespace detail

template <class... X, class... F>
void callable<feed_list<X...>, fetch_list<F...>>::run_untyped(const any_array* const* fed, any_array* fetched,
                                                              double seconds) const {
    if (!state_) detail::moved_from("callable");
    detail::run_callable(*state_, fed, fetched, seconds);
}

/// Runs the graph that was current when it was made. Thread-safe; its variables end with it. What was moved from says
/// so: every function is a failed_precondition_error then.
class session {
public:
    /// invalid_argument_error where an option makes no sense, naming it.
    session();
    explicit session(const session_options& o);
    explicit session(const graph& g);
    session(const graph& g, const session_options& o);
    ~session();
    session(session&&) noexcept = default;
    session& operator=(session&&) noexcept = default;

    /// Runs what is fetched, with what is fed (feed(x, value)), in any order of arguments: the array of the one
    /// tensor fetched, or a tuple of several, or nothing.
    template <class... F> auto run(F&&... arguments) { return run_for(0, std::forward<F>(arguments)...); }
    /// The same with a time limit in seconds, 0: the session's operation_timeout. A step that takes longer, waiting or
    /// computing, is a deadline_exceeded_error that says what it was waiting for; variables, session and graph stay
    /// usable (SEMANTICS 17). A limit that is negative or not a number is an invalid_argument_error.
    template <class... F> auto run_for(double seconds, F&&... arguments) {
        static_assert((detail::is_runnable<F> && ...), "tenon::session: a run takes tensors and operations, and "
                                                       "feed(x, value) for each that is fed");
        if constexpr (detail::any_ill_shaped<F...>)
            return detail::single(detail::ill_shaped_results<std::remove_cvref_t<F>...>());
        else {
            detail::run_request r;
            r.timeout = seconds;
            (detail::add_fetch(r, std::forward<F>(arguments)), ...);
            std::vector<any_array> values = detail::run_once(live(), std::move(r));
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
            (void)live();
            return result(detail::make_callable(state_, fed.tensors, f.request));
        }
    }

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
        return report_of(std::move(r));
    }

    /// Where each node of such a run is placed, and why; what crosses between devices. Places them, as a run does.
    template <class... F> placement_explanation explain_placement(F&&... arguments) {
        static_assert((detail::is_runnable<F> && ...), "tenon::session: a run takes tensors and operations, and "
                                                       "feed(x, value) for each that is fed");
        detail::run_request r;
        (detail::add_fetch(r, std::forward<F>(arguments)), ...);
        return explanation_of(std::move(r));
    }

    session_statistics statistics() const;
    /// The devices, /device:CPU:0 first (SEMANTICS 12).
    std::vector<device_attributes> list_logical_devices() const;
    /// How much of a device's memory is in use: by variables, constants, and the memory of plans that are kept.
    /// not_found_error where there is no such device, naming those that there are.
    tenon::memory_info memory_info(const device_name& device) const;
    /// While it is set, every node that runs is recorded; nullptr ends it. Returns when no step writes to the one that
    /// was set before, which may end then; steps that begin meanwhile are not recorded. From within a step that is
    /// recorded, which it would wait for, it is a failed_precondition_error; kernels on other threads must not call it.
    void set_trace(trace* t);
    /// While it is set, the times of all nodes and transfers that run are added to it; nullptr ends it. Steps are then
    /// planned anew, so that each node has a time of its own: nothing is fused or folded, and the host's nodes run one
    /// after another. Returns as set_trace does.
    void set_measurements(cost_measurements* m);
    /// Later runs are failed_precondition_error: "Session is closed." (SEMANTICS 19)
    void close();
    const graph& bound_graph() const;

private:
    step_report report_of(detail::run_request&& r);
    placement_explanation explanation_of(detail::run_request&& r);
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
