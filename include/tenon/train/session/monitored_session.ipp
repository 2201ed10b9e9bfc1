#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/input/iterator.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/checkpoint/saver.hpp>
#include <tenon/train/optimize/compression.hpp>
#include <tenon/train/session/coordinator.hpp>
#include <tenon/train/session/leadership.hpp>
#include <tenon/train/session/monitored_session.hpp>
#include <tenon/train/session/queue_runner.hpp>
#include <tenon/train/session/stop_signal.hpp>

namespace tenon {

namespace detail {

// One node for each variable, made once.
inline std::vector<any_tensor> initialized_checks(const std::vector<any_tensor>& variables) {
    std::vector<any_tensor> all;
    for (const any_tensor& v : variables) {
        graph g(v.node()->graph);
        const std::string key = v.node()->name + "/is_initialized";
        std::vector<any_tensor> made = g.collection(key);
        if (made.empty()) {
            const graph_scope there(g);
            const owned_scope with(v);
            made.push_back(add<is_initialized_op>({}, {v}, "is_initialized"));
            g.add_to_collection(key, made.back());
        }
        all.push_back(made.front());
    }
    return all;
}

inline std::vector<std::string> without_value(tenon::session& s, const std::vector<any_tensor>& variables,
                                              const std::vector<any_tensor>& checks) {
    std::vector<std::string> names;
    if (checks.empty()) return names;
    const std::vector<any_array> is = s.run_untyped({}, checks);
    for (std::size_t i = 0; i < is.size(); ++i)
        if (!is[i].data<bool>()[0]) names.push_back(variables[i].node()->name);
    return names;
}

// Whether a step that is asked for this can compute x, too.
inline bool can_compute(const run_request& asked, const any_tensor& x) {
    std::vector<node_output> next;
    std::unordered_set<const node*> seen;
    const auto all = [&](auto&& is_good) {
        while (!next.empty()) {
            const node_output at = next.back();
            next.pop_back();
            const auto is_fed = [&](const fed_value& f) {
                return f.tensor.node() == at.node && f.tensor.index() == at.index;
            };
            if (!at.node || std::any_of(asked.feeds.begin(), asked.feeds.end(), is_fed)) continue;
            if (!seen.insert(at.node).second) continue;
            if (!is_good(*at.node)) return false;
            next.insert(next.end(), at.node->inputs.begin(), at.node->inputs.end());
            for (node* before : at.node->controls) next.push_back({before, 0});
        }
        return true;
    };
    for (const any_tensor& t : asked.fetches) next.push_back({t.node(), t.index()});
    for (const operation& o : asked.targets) next.push_back({o.node(), 0});
    (void)all([](const node&) { return true; });
    next.push_back({x.node(), x.index()});
    return all([](const node& n) {
        const bool takes =
            (n.op->is(op_flags::uses) && n.op->is(op_flags::waits)) || n.op == &definition_of<iterator_next_of_op>();
        return !n.op->is(op_flags::fed) && !takes;
    });
}

inline hook_period save_period(hook_period p) {
    if (p.steps == 0 && p.seconds == 0) p.seconds = 600;
    return p;
}

} // namespace detail

TENON_INLINE std::vector<std::string> uninitialized_variables(session& s, const std::vector<any_tensor>& variables) {
    const std::vector<any_tensor> all = variables.empty() ? s.bound_graph().collection(global_variables) : variables;
    return detail::without_value(s, all, detail::initialized_checks(all));
}

struct monitored_session::state final : hook_context {
    explicit state(monitored_session_options o);

    // hook_context
    tenon::session& session() override {
        if (!open) throw failed_precondition_error("monitored_session: it is closed");
        return *open;
    }
    bool is_chief() const override { return leads ? leads->leads() : options.is_chief; }
    void request_stop() override {
        const std::lock_guard lock(guard);
        stopping = true;
        changed.notify_all();
    }
    std::int64_t step() const override { return steps; }
    bool can_compute(const any_tensor& x) const override;

    void begin();
    void open_within(double seconds, const std::string& why);
    void open_once(double deadline);
    bool give_values(double deadline);
    void give_local_values();
    void restore_or_initialize();
    void initialize_others(const restored_checkpoint& r);
    void go_on_with_random_numbers();
    void say_what_is_waited_for(const std::vector<std::string>& missing);
    void drop() noexcept;
    void recover(const error& lost);
    // Whether the session is opened again: where there are other processes, a task of them is lost, and time for it is given.
    bool can_recover(const error& e) const noexcept {
        return e.reason() == error_reason::lost_task && !options.target.empty() && options.recovery_timeout > 0;
    }
    void save();
    std::vector<any_array> run(detail::run_request&& r);
    std::vector<any_array> run_once(const detail::run_request& r, std::vector<std::size_t>& counts, bool& begun);
    void call_hooks(std::vector<any_array>&& all, std::size_t first, const std::vector<std::size_t>& counts);
    void check_runners();
    void close();
    void signalled(int number);
    struct in_a_step {
        explicit in_a_step(state& s) : of(s) { set(true); }
        in_a_step(const in_a_step&) = delete;
        ~in_a_step() { set(false); }
        void set(bool is) const {
            const std::lock_guard lock(of.guard);
            of.in_step = is;
            of.changed.notify_all();
        }
        state& of;
    };
    // Hooks are asked; what they throw ends it, too.
    struct before_a_step {
        before_a_step(state& s, const detail::run_request& r) : of(s) { of.to_come = &r; }
        before_a_step(const before_a_step&) = delete;
        ~before_a_step() { of.to_come = nullptr; }
        state& of;
    };
    bool reopen_where_interrupted();

    // Waits so long, or until a stop is requested; false then.
    bool wait(double seconds) {
        std::unique_lock lock(guard);
        return !changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return stopping.load(); });
    }
    double now() const override { return options.clock ? options.clock() : real_now(); }
    static double real_now() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    void tell(const std::string& line) const {
        const std::lock_guard one(telling);
        if (options.log) options.log(line);
    }
    void warn(const std::string& line) const {
        if (options.log) tell(line);
        else std::fprintf(stderr, "%s\n", line.c_str());
    }

    const monitored_session_options options;
    tenon::graph graph = tenon::graph::current();
    std::vector<any_tensor> variables, checks;
    std::vector<any_tensor> locals, local_checks; // local_variables
    std::vector<operation> local_initializers;
    std::vector<any_tensor> global;                                         // the step, or nothing
    const detail::run_request* to_come = nullptr;                           // of the step that is to come
    mutable std::map<std::vector<std::pair<const node*, int>>, bool> known; // of what was asked, and of a tensor
    operation initialize;
    std::optional<saver> saves;
    detail::hook_timer save_timer;
    std::int64_t saved_step = -1;

    mutable std::mutex telling; // held by who tells: the leadership's thread does, too

    std::optional<tenon::session> open;
    std::unique_ptr<detail::leadership> leads; // where there may be others
    std::unique_ptr<coordinator> runners;      // of the open session
    bool rebuilt = false;                      // the open session's variables were given values when it was opened
    bool gave = false;                         // by this one
    std::vector<run_count> random_runs;        // of the session that was lost
    bool closed = false;
    std::int64_t steps = 0;
    std::atomic<int> opened{0};

    mutable std::mutex guard;
    std::condition_variable changed;   // under the guard
    std::atomic<bool> stopping{false}; // written under the guard
    bool in_step = false;              // under the guard, and so the next two where other threads may be
    bool interrupted = false;
    detail::stop_listener on_signal{[this](int number) { signalled(number); }};
};

TENON_INLINE monitored_session::state::state(monitored_session_options o) :
    options(std::move(o)), save_timer(detail::save_period(options.save_every)) {
    const auto require = [](bool good, const std::string& what) {
        if (!good) throw invalid_argument_error("monitored_session_options::" + what);
    };
    require(options.target.empty() || options.tasks.empty(), "target and tasks are both given; give one of them");
    require(options.open_timeout > 0,
            "open_timeout is " + detail::text_of_number(options.open_timeout) + "; give seconds");
    require(options.recovery_timeout >= 0, "recovery_timeout is " + detail::text_of_number(options.recovery_timeout) +
                                               "; give seconds, or 0 for none");
    require(options.stop_grace > 0, "stop_grace is " + detail::text_of_number(options.stop_grace) + "; give seconds");
    require(options.chief_lease >= 0 && options.chief_lease <= 1e6,
            "chief_lease is " + detail::text_of_number(options.chief_lease) + "; give seconds, or 0 for none");
    require(options.save_every.steps >= 0 && options.save_every.seconds >= 0,
            "save_every has a negative number; give steps or seconds");
    for (const auto& h : options.hooks) require(h != nullptr, "hooks has an empty one");
    if (!options.checkpoint.empty()) saves.emplace(options.checkpoint, saver_options{.keep = options.keep});
}

TENON_INLINE void monitored_session::state::save() {
    saved_checkpoint s;
    struct hooks_scope {
        explicit hooks_scope(state& of) : of_(of) {
            for (const auto& h : of_.options.hooks) h->saving(of_);
        }
        ~hooks_scope() {
            for (const auto& h : of_.options.hooks) h->saved(of_);
        }
        state& of_;
    };
    try {
        const hooks_scope hooks(*this);
        s = saves->save(*open, global.empty() ? steps : -1);
    } catch (const aborted_error& e) {
        if (!leads || is_chief() || e.reason() != error_reason::none) throw;
        warn(std::string("session: not saved, since another is the chief now: ") + e.what());
        return;
    }
    saved_step = s.manifest.step;
    save_timer.set(s.manifest.step, now());
    for (const std::string& line : s.passed_over)
        warn("session: made the list of checkpoints anew, without what is damaged: " + line);
    tell("session: saved " + s.path + (s.trouble.empty() ? "" : "; older ones could not be removed: " + s.trouble));
}

// What was started in the session's name and has failed.
TENON_INLINE void monitored_session::state::check_runners() {
    if (!runners || !runners->should_stop()) return;
    runners->join();
    throw aborted_error("monitored_session: its queue runners were stopped");
}

// On the thread that tells of signals.
TENON_INLINE void monitored_session::state::signalled(int number) {
    warn("session: signal " + std::to_string(number) + " asks it to stop");
    request_stop();
    if (options.target.empty() && options.tasks.empty()) return; // its variables would end with the session
    std::unique_lock lock(guard);
    if (changed.wait_for(lock, std::chrono::duration<double>(options.stop_grace), [&] { return !in_step; })) return;
    interrupted = true;
    try {
        open->close(); // its thread does not touch it while it is in a step
    } catch (const error&) {
    }
}

// Whether a signal has ended its steps; the session is another one then, for close() to save.
TENON_INLINE bool monitored_session::state::reopen_where_interrupted() {
    {
        const std::lock_guard lock(guard);
        if (!std::exchange(interrupted, false)) return false;
    }
    drop();
    open_once(real_now() + options.stop_grace);
    return true;
}

TENON_INLINE bool monitored_session::state::can_compute(const any_tensor& x) const {
    if (!to_come) return true;
    std::vector<std::pair<const node*, int>> key;
    for (const fed_value& f : to_come->feeds) key.emplace_back(f.tensor.node(), f.tensor.index());
    key.emplace_back(nullptr, 0);
    for (const any_tensor& t : to_come->fetches) key.emplace_back(t.node(), t.index());
    for (const operation& o : to_come->targets) key.emplace_back(o.node(), 0);
    key.emplace_back(x.node(), x.index());
    const auto [at, is_new] = known.try_emplace(std::move(key));
    if (is_new) at->second = detail::can_compute(*to_come, x);
    return at->second;
}

// What was asked for, then what each hook fetches, then the global step.
TENON_INLINE std::vector<any_array> monitored_session::state::run_once(const detail::run_request& r,
                                                                       std::vector<std::size_t>& counts, bool& begun) {
    std::vector<any_tensor> fetches = r.fetches;
    counts.clear();
    {
        const before_a_step here(*this, r);
        for (const auto& h : options.hooks) {
            const std::vector<any_tensor> more = h->before_run(*this);
            counts.push_back(more.size());
            fetches.insert(fetches.end(), more.begin(), more.end());
        }
    }
    fetches.insert(fetches.end(), global.begin(), global.end());
    std::vector<fed_value> feeds;
    for (const fed_value& f : r.feeds) feeds.push_back({f.tensor, f.value.share()});
    begun = true;
    const in_a_step here(*this);
    return open->run_untyped(std::move(feeds), fetches, r.targets);
}

TENON_INLINE void monitored_session::state::call_hooks(std::vector<any_array>&& all, std::size_t first,
                                                       const std::vector<std::size_t>& counts) {
    for (std::size_t h = 0; h < options.hooks.size(); ++h) {
        const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
        first += counts[h];
        const std::vector<any_array> own(std::make_move_iterator(from),
                                         std::make_move_iterator(from + static_cast<std::ptrdiff_t>(counts[h])));
        options.hooks[h]->after_run(*this, own);
    }
}

TENON_INLINE std::vector<any_array> monitored_session::state::run(detail::run_request&& r) {
    if (closed) throw failed_precondition_error("monitored_session: it is closed");
    if (stopping)
        throw failed_precondition_error("monitored_session: a stop was requested: ask should_stop() first, and read "
                                        "what is left by session().run()");
    constexpr int most_in_a_row = 10; // what fails whenever it is run is no loss
    std::vector<any_array> all;
    std::vector<std::size_t> counts;
    for (int tried = 1;; ++tried) {
        bool begun = false;
        try {
            if (!open) open_within(options.recovery_timeout, "an earlier step failed");
            check_runners();
            all = run_once(r, counts, begun);
            (void)reopen_where_interrupted();
            break;
        } catch (const error& e) {
            if (reopen_where_interrupted())
                throw_error(error_code::cancelled,
                            std::string("monitored_session: a signal asked for a stop, and the step did not end: ") +
                                e.what());
            if (!can_recover(e) || tried == most_in_a_row) throw;
            recover(e);
            if (rebuilt || !begun) continue;
            if (r.fetches.empty()) return {};
            throw unknown_outcome_error(
                std::string("monitored_session: the step was lost, and may have been applied or "
                            "not; the session is open again, with the variables as they are: ") +
                e.what());
        }
    }
    // A read is of before the step, which has counted since, if it trains.
    steps = (global.empty() ? steps : all.back().data<std::int64_t>()[0]) + 1;
    const std::size_t asked = r.fetches.size();
    std::vector<any_array> results(std::make_move_iterator(all.begin()),
                                   std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(asked)));
    try {
        call_hooks(std::move(all), asked, counts);
        if (saves && is_chief() && save_timer.due(steps, now())) save();
    } catch (const error& e) { // the step was done, whatever comes after it
        if (!can_recover(e)) throw;
        recover(e);
    }
    return results;
}

TENON_INLINE void monitored_session::state::close() {
    if (closed) return;
    closed = true;
    request_stop();
    std::exception_ptr first;
    const auto keep_first = [&](auto&& f) {
        try {
            f();
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    };
    if (open) {
        for (const auto& h : options.hooks) keep_first([&] { h->end(*this); });
        if (saves && is_chief() && !first)
            keep_first([&] {
                if (!global.empty()) steps = open->run_untyped({}, global)[0].data<std::int64_t>()[0];
                if (steps != saved_step) save();
            });
        if (runners) {
            runners->request_stop();
            keep_first([&] { runners->join(); });
        }
        if (leads) leads->give_back();
        keep_first([&] { open->close(); });
    }
    drop();
    if (first) std::rethrow_exception(first);
}

TENON_INLINE monitored_session::monitored_session(monitored_session_options o) :
    state_(std::make_unique<state>(std::move(o))) {
    state_->begin();
    state_->open_within(state_->options.open_timeout, {});
}
TENON_INLINE monitored_session::~monitored_session() {
    try {
        if (std::uncaught_exceptions() == 0) state_->close();
        else {
            if (state_->leads) state_->leads->give_back(); // so that who comes after need not wait
            state_->drop();
        }
    } catch (...) { // close() tells
    }
}

TENON_INLINE std::vector<any_array> monitored_session::run_request(detail::run_request&& r) {
    return state_->run(std::move(r));
}
TENON_INLINE std::vector<any_array> monitored_session::run_untyped(std::vector<fed_value> feeds,
                                                                   const std::vector<any_tensor>& fetches,
                                                                   const std::vector<operation>& targets) {
    detail::run_request r;
    r.feeds = std::move(feeds);
    r.fetches = fetches;
    r.targets = targets;
    return state_->run(std::move(r));
}

TENON_INLINE void monitored_session::turn(function_ref<void()> body) {
    try {
        body();
    } catch (const end_of_data_error&) {
        request_stop();
    } catch (const unknown_outcome_error&) {
    } catch (const cancelled_error&) {
        if (stop_signal() == 0) throw;
    } catch (const failed_precondition_error&) { // a signal came before the body's first run
        if (stop_signal() == 0 || !should_stop()) throw;
    }
}

TENON_INLINE bool monitored_session::should_stop() const noexcept { return state_->stopping; }
TENON_INLINE bool monitored_session::is_chief() const { return state_->is_chief(); }
TENON_INLINE void monitored_session::request_stop() noexcept { state_->request_stop(); }
TENON_INLINE int monitored_session::sessions_opened() const noexcept { return state_->opened; }
TENON_INLINE session& monitored_session::session() { return state_->session(); }
TENON_INLINE void monitored_session::close() { state_->close(); }

} // namespace tenon

#include <tenon/train/session/monitored_opening.inl>
