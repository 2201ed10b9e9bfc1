#pragma once

#include <set>

#include <tenon/ops/shape/partition.hpp>
#include <tenon/train/session/chief_limit.hpp>

// A part of train/session/monitored_session.ipp: how the session is opened, its variables get values, and it is opened again.

namespace tenon {

// All nodes are made here, so that the graph does not grow from step to step.
TENON_INLINE void monitored_session::state::begin() {
    const graph_scope there(graph);
    for (const auto& h : options.hooks) h->begin();
    global = graph.collection("global_step");
    variables = graph.collection(global_variables);
    checks = detail::initialized_checks(variables);
    initialize = options.initializer ? options.initializer : initialize_variables();
    locals = graph.collection(local_variables);
    for (const any_tensor& v : locals) local_initializers.push_back(detail::initializer_of(v));
    local_checks = detail::initialized_checks(locals);
    const bool shared = !options.target.empty() || !options.tasks.empty();
    if (!shared || variables.empty() || options.chief_lease == 0) return;
    detail::leadership_options o;
    o.name = "chief" + (options.checkpoint.empty() ? "" : " of " + options.checkpoint);
    o.leads_first = options.is_chief;
    o.seconds = options.chief_lease;
    o.log = [this](const std::string& line) { tell(line); };
    leads = std::make_unique<detail::leadership>(std::move(o), variables.front());
}

TENON_INLINE void monitored_session::state::open_once(double deadline) {
    session_options so = options.session;
    if (!options.target.empty() && so.open_timeout == 0) so.open_timeout = std::clamp(deadline - real_now(), 0.1, 10.0);
    if (!options.target.empty()) open.emplace(options.target, graph, so);
    else if (options.tasks.empty()) open.emplace(graph, so);
    else open.emplace(options.tasks, graph, so);
    if (leads) leads->join(*open);
    rebuilt = give_values(deadline);
    go_on_with_random_numbers();
    give_local_values();
    if (options.local_initializer) open->run(options.local_initializer);
    if (!global.empty()) steps = open->run_untyped({}, global)[0].data<std::int64_t>()[0];
    if (options.start_queue_runners && !graph.collection(queue_runners).empty()) {
        runners = std::make_unique<coordinator>();
        (void)start_queue_runners(*open, *runners);
    }
    ++opened;
    for (const auto& h : options.hooks) h->opened(*this, rebuilt);
    if (!save_timer.was_set()) save_timer.set(steps, now());
}

// What is this process's own begins anew where all variables do, and where its task was lost.
TENON_INLINE void monitored_session::state::give_local_values() {
    const std::vector<std::string> missing = detail::without_value(*open, locals, local_checks);
    for (std::size_t i = 0; i < locals.size(); ++i)
        if (rebuilt || std::find(missing.begin(), missing.end(), locals[i].node()->name) != missing.end())
            open->run(local_initializers[i]);
}

// Whether the variables had none, and have now.
TENON_INLINE bool monitored_session::state::give_values(double deadline) {
    std::vector<std::string> missing = detail::without_value(*open, variables, checks);
    gave = false;
    if (missing.empty()) {
        tell("session: all variables have values, and are gone on with");
        return false;
    }
    const double began = real_now();
    double told = began;
    const detail::chief_limit limit = opened == 0 ? detail::get_chief_limit() : detail::chief_limit();
    for (double pause = 0.01; !missing.empty(); pause = std::min(2 * pause, 1.0)) {
        if (leads ? leads->claim(*open) : options.is_chief) {
            restore_or_initialize();
            gave = true;
            return true;
        }
        const double left = deadline - real_now();
        if (left <= 0)
            throw deadline_exceeded_error("monitored_session: no chief has given values to " +
                                          detail::joined(missing, ", ") + " in time; is one running?");
        if (limit.seconds > 0 && leads && leads->chief() == "nobody" && real_now() - began > limit.seconds)
            throw deadline_exceeded_error("monitored_session: the chief, " + limit.who + ", has not come within " +
                                          detail::text_of_number(limit.seconds) + " s to give values to " +
                                          detail::joined(missing, ", ") +
                                          "; is it started? TENON_JOIN_TIMEOUT gives it more seconds");
        constexpr double often = 3;
        if (real_now() - told >= often) {
            say_what_is_waited_for(missing);
            told = real_now();
        }
        if (!wait(std::min(pause, left)))
            throw cancelled_error("monitored_session: a stop was requested while it waited for the chief");
        missing = detail::without_value(*open, variables, checks);
    }
    return true;
}

// Variables that a checkpoint has not given values begin anew, on whatever task they are: what is live there is of another moment.
TENON_INLINE void monitored_session::state::initialize_others(const restored_checkpoint& r) {
    std::vector<std::string> which = r.missing;
    which.insert(which.end(), r.mismatched.begin(), r.mismatched.end());
    if (which.empty()) return;
    const std::set<std::string> loaded(r.loaded.begin(), r.loaded.end());
    std::vector<operation> targets;
    for (const detail::whole_variable& w : detail::whole_variables(variables))
        if (!loaded.contains(w.variable.node()->name))
            for (const any_tensor& part : w.parts) targets.push_back(detail::initializer_of(part));
    (void)open->run_untyped({}, {}, targets);
    warn("session: initialised what " + r.path + " does not have: " + detail::joined(which, ", "));
}

TENON_INLINE void monitored_session::state::restore_or_initialize() {
    for (const auto& h : options.hooks) h->giving_values(*this);
    std::vector<std::string> damaged; // where that is all there is, values are not begun anew in silence
    if (saves && (!saves->checkpoints(*open, &damaged).empty() || !damaged.empty())) {
        const restored_checkpoint r =
            saves->restore(*open, {.partial = options.partial, .fall_back = options.fall_back});
        saved_step = r.step;
        for (const std::string& line : r.passed_over) warn("session: passed over what is damaged: " + line);
        tell("session: restored " + r.path);
        initialize_others(r);
        if (!r.other_shards.empty())
            tell("session: the checkpoint is of another shard's data; from their beginning: " +
                 detail::joined(r.other_shards, ", "));
        return;
    }
    open->run(initialize);
    tell("session: initialised " + std::to_string(variables.size()) + " variables");
    saved_step = -1;
    if (saves) save();
}

// Of a session whose variables had values, or were given them by another: random numbers go on from those of the session that was lost,
// or, where there was none or the variables are of the last checkpoint again, from those that the checkpoint knows.
TENON_INLINE void monitored_session::state::go_on_with_random_numbers() {
    if (gave) return;
    if (!rebuilt && !random_runs.empty()) open->set_random_runs(random_runs);
    else if (saves) try {
            (void)saves->go_on_with_random_numbers(*open);
        } catch (const error& e) {
            if (e.reason() == error_reason::lost_task) throw;
            warn(std::string("session: its random numbers begin anew, since no checkpoint can be read: ") + e.what());
        }
}

TENON_INLINE void monitored_session::state::say_what_is_waited_for(const std::vector<std::string>& missing) {
    constexpr std::size_t most = 5;
    std::vector<std::string> some(missing.begin(),
                                  missing.begin() + static_cast<std::ptrdiff_t>(std::min(most, missing.size())));
    warn("session: waits for the chief, which is " + (leads ? leads->chief() : std::string("another process")) +
         ", to give values to " + std::to_string(missing.size()) + " variables: " + detail::joined(some, ", ") +
         (missing.size() > most ? ", ..." : "") + (options.target.empty() ? "" : "; by " + options.target));
}

TENON_INLINE void monitored_session::state::drop() noexcept {
    if (leads) leads->leave();
    try {
        if (open) open->close(); // before the runners stop: they would close queues that others use
        if (runners) {
            runners->request_stop();
            runners->join();
        }
    } catch (...) { // it is lost
    }
    runners.reset();
    open.reset();
}

// Tries until it is done, in growing intervals.
TENON_INLINE void monitored_session::state::open_within(double seconds, const std::string& why) {
    const double deadline = real_now() + seconds;
    for (double pause = 0.02;; pause = std::min(2 * pause, 2.0)) {
        try {
            open_once(deadline);
            return;
        } catch (const error& e) {
            const bool again = e.reason() == error_reason::lost_task && real_now() + pause < deadline;
            drop();
            if (!again) {
                if (why.empty()) throw;
                throw_error(e, std::string(e.what()) + "\nthe session was to be opened again, since " + why);
            }
            tell(std::string("session: could not be opened, and is tried again: ") + e.what());
        } catch (...) {
            drop();
            throw;
        }
        if (!wait(pause)) throw cancelled_error("monitored_session: a stop was requested before its session was open");
    }
}

TENON_INLINE void monitored_session::state::recover(const error& lost) {
    const std::string why = lost.what();
    tell("session: lost, and opened again: " + why);
    if (open) random_runs = open->random_runs();
    drop();
    open_within(options.recovery_timeout, why);
}

} // namespace tenon
