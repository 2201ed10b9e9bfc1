#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/number_text.hpp>
#include <tenon/ops/queue/queue.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/state/accumulator.hpp>
#include <tenon/ops/state/control.hpp>
#include <tenon/ops/state/step_ledger.hpp>
#include <tenon/resources/step_ledger.hpp>
#include <tenon/train/optimize/given_gradients.hpp>
#include <tenon/train/optimize/tape_writer.hpp>
#include <tenon/train/replicated/sync_replicas.hpp>
#include <tenon/train/session/host_scope.hpp>

namespace tenon {

namespace detail {

/// A step that does something until it is stopped, or its session is lost; one that waits until it does; and one that begins anew.
struct held_operation {
    operation rests;
    any_tensor begun, clear;
};

/// One operation's, and what is run beside it.
struct sync_training {
    untyped::step_ledger::token token;
    untyped::step_ledger::standing state;
    any_tensor over; // steps, in the variable that is saved
    operation apply, join, leave, finish, discard;
    operation restart; // discards, and the ledger goes on as the variable says
    any_tensor why;    // fed to leave and finish
    held_operation attends, pauses;
};

// What waits here waits for others, however long these take.
inline constexpr double no_time_limit = 1e9;

/// Runs what is held, as long as it lives.
class holding {
public:
    /// Once it is held; deadline_exceeded_error where it is not within so many seconds.
    holding(session& s, const held_operation& what, double limit) {
        s.run_untyped({}, {what.clear});
        step_ = s.callable(feeds(), fetches(what.rests)).start_for(no_time_limit);
        try {
            s.callable_untyped({}, {what.begun}).run_for(limit, {});
        } catch (...) {
            end();
            throw;
        }
    }
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;
    ~holding() { end(); }

private:
    void end() noexcept {
        step_->stop();
        try {
            step_->get();
        } catch (...) { // cancelled_error
        }
    }
    std::optional<pending_step<operation>> step_;
};

/// The one pause that there is at a time, which another thread may end than began it. Thread-safe.
class pause_turn {
public:
    /// False: there was another one all these seconds.
    bool begin_within(double seconds) {
        std::unique_lock lock(guard_);
        const std::chrono::duration<double> limit(std::min(seconds, no_time_limit));
        if (!ended_.wait_for(lock, limit, [this] { return !is_there_; })) return false;
        return is_there_ = true;
    }
    void end() noexcept {
        const std::lock_guard lock(guard_);
        is_there_ = false;
        ended_.notify_one();
    }

private:
    std::mutex guard_;
    std::condition_variable ended_;
    bool is_there_ = false;
};

/// Of one sync_replicas, and of its hooks. Built by the thread that makes the graph.
class sync_state {
public:
    explicit sync_state(const sync_replicas_options& o) : options(o) {
        std::random_device random; // tells this process from one that had its number before
        while (process == 0) process = static_cast<std::int64_t>((std::uint64_t{random()} << 31) ^ random());
    }
    const sync_training& last() const {
        if (trainings.empty())
            throw failed_precondition_error(
                "sync_replicas: nothing is minimized yet; call minimize or apply_gradients");
        return trainings.back();
    }
    const sync_replicas_options options;
    std::int64_t process = 0;
    std::vector<sync_training> trainings;
    mutable pause_turn pausing;
};

/// Applies in a session: for each training a thread that waits for gradients, and applies them. What it throws on the way it
/// tells the ledger, by which this replica's steps fail.
class sync_applying {
public:
    sync_applying(const sync_state& state, session& s) {
        for (const sync_training& t : state.trainings) {
            s.run(t.join);
            attends_.emplace_back(s, t.attends, no_time_limit);
        }
        for (const sync_training& t : state.trainings) all_.emplace_back(s, t);
        for (one& o : all_) o.thread = std::thread([this, &o] { go_on(o); });
    }
    sync_applying(const sync_applying&) = delete;
    sync_applying& operator=(const sync_applying&) = delete;
    ~sync_applying() { end(false); }
    /// Where it `finishes` it will not come again. A step that is being applied is ended.
    void end(bool finishes) noexcept {
        {
            const std::lock_guard lock(guard_);
            if (std::exchange(ends_, true)) return;
        }
        constexpr double grace = 10;
        for (one& o : all_) {
            const bool told = say(finishes ? o.finish : o.leave, "", grace);
            {
                const std::lock_guard lock(guard_);
                if (o.pending && !(told && o.pending->wait_for(grace))) o.pending->stop();
            }
            o.thread.join();
        }
    }

private:
    using step = callable<feed_list<>, fetch_list<operation>>;
    struct one {
        one(session& s, const sync_training& t) :
            apply(s.callable(feeds(), fetches(t.apply))),
            look(s.callable_untyped({}, {t.state.step})),
            discard(s.callable(feeds(), fetches(t.discard))),
            leave(s.callable_untyped({t.why}, {}, {t.leave})),
            finish(s.callable_untyped({t.why}, {}, {t.finish})) {}
        step apply;
        untyped_callable look; // that time passes
        step discard;
        untyped_callable leave, finish;
        std::optional<pending_step<operation>> pending; // set by the thread, under the guard
        std::thread thread;
    };

    void go_on(one& o) {
        constexpr double told_within = 10;
        constexpr int most_failures = 3; // one after another
        for (int failures = 0;;) {
            try {
                {
                    const std::lock_guard lock(guard_);
                    if (ends_) return;
                    o.pending = o.apply.start_for(no_time_limit);
                }
                constexpr double often = 5;
                while (!o.pending->wait_for(often)) o.look({});
                o.pending->get();
                failures = 0;
            } catch (const lost_task_error&) {
                return; // who runs steps is told, and opens another session
            } catch (const cancelled_error&) {
                return;
            } catch (const aborted_error& e) { // gradients are where they were lost, or a step was done by another one
                try {
                    if (++failures <= most_failures) o.discard();
                    else if (!say(o.leave, e.what(), told_within)) return;
                } catch (...) {
                    return;
                }
            } catch (const std::exception& e) {
                if (!say(o.leave, e.what(), told_within)) return;
            }
        }
    }
    // False where the session is closed or lost: then nobody waits.
    static bool say(const untyped_callable& how, const std::string& why, double limit) noexcept {
        try {
            std::vector<any_array> fed;
            fed.emplace_back(element_type::string, extents());
            *fed[0].data<std::string>() = why;
            how.run_for(limit, fed);
            return true;
        } catch (...) {
            return false;
        }
    }

    std::list<holding> attends_;
    std::mutex guard_; // of what follows
    bool ends_ = false;
    std::list<one> all_; // each thread's own
};

/// While it lives no step is applied, and none is half applied.
class sync_pause {
public:
    sync_pause(std::shared_ptr<const sync_state> state, session& s, double limit) : state_(std::move(state)) {
        if (!state_->pausing.begin_within(limit))
            throw deadline_exceeded_error(
                "sync_replicas: this process pauses the training already; let go of that pause first");
        try {
            for (const sync_training& t : state_->trainings) all_.emplace_back(s, t.pauses, limit);
        } catch (...) {
            end();
            throw;
        }
    }
    sync_pause(const sync_pause&) = delete;
    sync_pause& operator=(const sync_pause&) = delete;
    ~sync_pause() { end(); }

private:
    void end() noexcept {
        all_.clear();
        state_->pausing.end();
    }
    const std::shared_ptr<const sync_state> state_;
    std::list<holding> all_;
};

class sync_hook final : public session_hook {
public:
    explicit sync_hook(std::shared_ptr<const sync_state> state) : state_(std::move(state)) {}
    void begin() override { (void)state_->last(); }
    // What was computed of variables that are lost counts no more. When they are restored others may have read some before, and some
    // after; at first there is nobody yet. Steps are counted from those that what was restored has had.
    void giving_values(hook_context& c) override {
        applying_.reset();
        for (const sync_training& t : state_->trainings) c.session().run(t.discard);
        gave_ = true;
    }
    void opened(hook_context& c, bool) override {
        applying_.reset();
        if (std::exchange(gave_, false))
            for (const sync_training& t : state_->trainings) {
                const std::vector<any_array> steps = c.session().run_untyped({}, {t.state.step, t.over});
                if (opened_ || *steps[0].data<std::int64_t>() != *steps[1].data<std::int64_t>())
                    c.session().run(t.restart);
            }
        opened_ = true;
        applying_.emplace(*state_, c.session());
    }
    void saving(hook_context& c) override {
        constexpr double limit = 60;
        paused_.emplace(state_, c.session(), limit);
    }
    void saved(hook_context&) noexcept override { paused_.reset(); }
    void end(hook_context&) override {
        if (applying_) applying_->end(true);
        applying_.reset();
    }

private:
    const std::shared_ptr<const sync_state> state_;
    std::optional<sync_applying> applying_;
    std::optional<sync_pause> paused_;
    bool gave_ = false, opened_ = false;
};

// A tensor as it is after another one: copies of the nodes that it is computed with, up to variables, which are read then.
inline any_tensor computed_after(const any_tensor& before, const any_tensor& x) {
    std::map<const node*, node*> copies; // of what depends on no variable: itself
    const std::function<node*(node*)> copy = [&](node* n) -> node* {
        if (const auto known = copies.find(n); known != copies.end()) return known->second;
        const control_dependencies after(before);
        if (n->op->is(op_flags::variable)) return copies[n] = untyped::identity(any_tensor({n, 0})).node();
        std::vector<any_tensor> inputs;
        bool same = true;
        for (const node_output& in : n->inputs) {
            node* const own = copy(in.node);
            same = same && own == in.node;
            inputs.emplace_back(node_output{own, in.index});
        }
        if (same) return copies[n] = n;
        return copies[n] = add_node(*n->op, std::move(inputs), n->attributes, n->name + "/then");
    };
    return any_tensor({copy(x.node()), x.index()});
}

// What replicas must have in common, in lines.
inline std::string description_of(const optimizer& how, const std::vector<gradient_and_variable>& gradients,
                                  const std::vector<bool>& rows, const minimize_options& o) {
    std::string text = "optimiser " + how.name();
    if (how.rate().is_number()) text += ", learning rate " + text_of_number(how.rate().number());
    if (const std::string more = how.settings(); !more.empty()) text += ", " + more;
    if (!o.advance_global_step) text += ", global step not advanced";
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const any_tensor& v = gradients[i].variable;
        text += "\n" + std::string("variable ") + v.name() + " " + to_string(v.type());
        if (rows[i]) text += ", gradient of rows";
    }
    return text;
}

} // namespace detail

TENON_INLINE sync_replicas::sync_replicas(std::shared_ptr<const optimizer> how, const sync_replicas_options& o) :
    optimizer(*how), how_(std::move(how)), state_(std::make_shared<detail::sync_state>(o)) {
    const auto require = [](bool good, const std::string& wrong) {
        if (!good) throw invalid_argument_error("sync_replicas: " + wrong);
    };
    const std::string total = std::to_string(o.total);
    require(o.total >= 1, "total is " + total + "; give the number of replicas, 1 or more");
    require(o.aggregate >= 0 && o.aggregate <= o.total,
            "aggregate is " + std::to_string(o.aggregate) + " of a total of " + total +
                " replicas, each of which gives one gradient a step; give 1 to " + total +
                ", or 0 for all that take part");
    require(o.replica >= 0 && o.replica < o.total,
            "replica is " + std::to_string(o.replica) + "; give 0 to " + std::to_string(o.total - 1));
}
TENON_INLINE sync_replicas::~sync_replicas() = default;

TENON_INLINE operation sync_replicas::apply_gradients(const std::vector<gradient_and_variable>& gradients,
                                                      const minimize_options& o) const {
    const std::vector<gradient_and_variable> all = detail::checked_gradients(gradients);
    const graph of(all.front().variable.node()->graph);
    const detail::home_scope scope(of);
    const name_scope names(o.name);

    std::vector<std::vector<any_tensor>> own; // a tensor, or indices and rows
    std::vector<bool> rows;
    detail::row_gradients known;
    for (const gradient_and_variable& g : all) {
        const std::optional<row_gradient> sparse = known.of(g.gradient);
        rows.push_back(sparse.has_value());
        own.push_back(sparse ? std::vector{sparse->indices, sparse->values} : std::vector{g.gradient});
    }

    // Steps that are over: what a ledger begins with that is made anew.
    const any_tensor over = [&] {
        const detail::only_devices apart(of);
        return any_tensor(variable<std::int64_t, shape<>>(o.name + "_steps", zeros(), {.trainable = false}));
    }();
    const std::string& shared = over.node()->name; // by which all replicas know what is theirs
    const sync_replicas_options& options = state_->options;
    const untyped::step_ledger ledger = [&] {
        const detail::host_scope there(over);
        return untyped::step_ledger(
            {options.aggregate, options.total, detail::description_of(*how_, all, rows, o), shared}, options.replica,
            state_->process);
    }();
    std::vector<untyped::accumulator> accumulators;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const any_tensor& v = all[i].variable;
        const detail::host_scope there(v);
        accumulators.emplace_back(
            v.type(), rows[i],
            accumulator_options{.shared_name = shared + "/" + v.name(), .name = v.name() + "/gradients"});
    }

    // What this replica does in a step.
    const any_tensor turn = ledger.begin(over);
    std::vector<node*> deposits;
    for (std::size_t i = 0; i < all.size(); ++i) deposits.push_back(accumulators[i].deposit(own[i], turn).node());
    const operation committed = [&] {
        const control_dependencies after(deposits);
        return ledger.commit(turn);
    }();
    const untyped::step_ledger::token token = [&] {
        const control_dependencies after(committed);
        return ledger.await();
    }();

    // What one process does for all.
    const detail::no_controls apart;
    const untyped::step_ledger::tickets tickets = ledger.apply(over);
    std::vector<gradient_and_variable> averages;
    std::vector<node*> averaged;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::vector<any_tensor> average = accumulators[i].average(tickets.numbers, tickets.step);
        averaged.push_back(average[0].node());
        averages.push_back(
            {rows[i] ? gradient_of_rows({average[0], average[1]}, all[i].variable) : average[0], all[i].variable});
    }
    // Before the first update all averages are there: where one is not, nothing has changed on any task.
    std::map<std::string, std::vector<node*>> by_task;
    for (std::size_t i = 0; i < all.size(); ++i)
        by_task[to_string(detail::host_scope::of(all[i].variable))].push_back(averaged[i]);
    std::vector<node*> complete;
    for (const auto& [task, nodes] : by_task) {
        const control_dependencies after(nodes);
        const device_scope outside{device_name()}, there{device_name(task)};
        complete.push_back(no_op("complete").node());
    }
    sync_replicas now(*this);
    if (!now.rate_.is_number()) // of the step that is applied, not of when this one began to wait for it
        now.rate_ = learning_rate(tensor<float, shape<>>::unchecked(
            detail::computed_after(tickets.step, now.rate_.tensor()))); // of its own element type
    const operation updated = [&] {
        const detail::host_scope there(over); // what belongs to no variable
        const operation all_complete = [&] {
            const control_dependencies after(complete);
            return no_op(o.name + "/complete");
        }();
        const control_dependencies after(all_complete);
        return now.apply_once(averages, o, tickets.step);
    }();
    const any_tensor next = [&] {
        const control_dependencies after(updated);
        const detail::owned_scope there(over);
        detail::tape_writer t;
        const detail::tape_value step = t.read(tickets.step) + 1;
        t.write(t.apply(opcode::maximum, step, t.read(detail::current_value(over))), element_type::int64);
        return untyped::assign(over, t.finish().front());
    }();
    const operation applied = [&] {
        const control_dependencies after(next);
        return ledger.advance(next);
    }();
    const any_tensor why = [&] {
        const detail::host_scope there(over);
        return untyped::placeholder(element_type::string, extents(), o.name + "/why");
    }();
    const any_tensor no_step = [&] {
        const detail::host_scope there(over);
        return detail::scalar_constant(-1, element_type::int64);
    }();
    const auto held = [&](const std::string& name, const operation& what) {
        const detail::host_scope there(over);
        const auto flag = [](const std::string& queue) {
            return untyped::fifo_queue({{element_type::boolean, {}}}, 1, {.name = queue});
        };
        const untyped::queue told = flag(name), never = flag(name + "/never");
        const control_dependencies after(what);
        const control_dependencies tells(told.enqueue({detail::scalar_constant(true, element_type::boolean)}));
        const operation rests = never.dequeue()[0].operation();
        const detail::no_controls by_itself;
        return detail::held_operation{rests, told.dequeue()[0], told.dequeue_some(0, 1)[0]};
    };
    state_->trainings.push_back({token, ledger.state(), over, applied, ledger.join(over), ledger.leave(why),
                                 ledger.leave(why, true), ledger.discard(no_step), ledger.discard(over), why,
                                 held(o.name + "/attends", ledger.attend()),
                                 held(o.name + "/is_paused", ledger.pause())});
    return group({token.step.operation()}, o.name);
}

TENON_INLINE std::shared_ptr<session_hook> sync_replicas::hook() const {
    (void)state_->last();
    return std::make_shared<detail::sync_hook>(state_);
}

TENON_INLINE sync_replicas::applying::applying(std::unique_ptr<detail::sync_applying> a) : a_(std::move(a)) {}
TENON_INLINE sync_replicas::applying::applying(applying&&) noexcept = default;
TENON_INLINE sync_replicas::applying& sync_replicas::applying::operator=(applying&&) noexcept = default;
TENON_INLINE sync_replicas::applying::~applying() = default;
TENON_INLINE void sync_replicas::applying::finish() noexcept {
    if (a_) a_->end(true);
}
TENON_INLINE sync_replicas::applying sync_replicas::start(session& s) const {
    (void)state_->last();
    return applying(std::make_unique<detail::sync_applying>(*state_, s));
}

TENON_INLINE sync_replicas::pause::pause(std::unique_ptr<detail::sync_pause> p) : p_(std::move(p)) {}
TENON_INLINE sync_replicas::pause::pause(pause&&) noexcept = default;
TENON_INLINE sync_replicas::pause& sync_replicas::pause::operator=(pause&&) noexcept = default;
TENON_INLINE sync_replicas::pause::~pause() = default;
TENON_INLINE sync_replicas::pause sync_replicas::between_steps(session& s, double limit) const {
    (void)state_->last();
    return pause(std::make_unique<detail::sync_pause>(state_, s, limit));
}

TENON_INLINE tensor<bool, shape<>> sync_replicas::counted() const {
    return tensor<bool, shape<>>::unchecked(state_->last().token.counted);
}
TENON_INLINE tensor<std::int64_t, shape<>> sync_replicas::step() const {
    return tensor<std::int64_t, shape<>>::unchecked(state_->last().state.step);
}
TENON_INLINE tensor<std::int64_t, shape<>> sync_replicas::present() const {
    return tensor<std::int64_t, shape<>>::unchecked(state_->last().state.present);
}
TENON_INLINE tensor<std::int64_t, shape<dyn>> sync_replicas::dropped() const {
    return tensor<std::int64_t, shape<dyn>>::unchecked(state_->last().state.dropped);
}

} // namespace tenon
