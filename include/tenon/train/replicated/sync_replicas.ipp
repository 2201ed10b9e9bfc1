#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/ops/queue/queue.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/state/accumulator.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/state/step_ledger.hpp>
#include <tenon/resources/step_ledger.hpp>
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
    holding(holding&&) = delete;
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
    sync_applying(sync_applying&&) = delete;
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
    sync_pause(sync_pause&&) = delete;
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

#include <tenon/train/replicated/sync_training.inl>
