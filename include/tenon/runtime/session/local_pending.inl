#pragma once

// A part of session/local_session.ipp: steps in flight, and their time limits.

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <utility>

#include <tenon/concurrency/deadlines.hpp>
#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/core/array/memory_payer.hpp>
#include <tenon/core/array/out_of_memory.hpp>
#include <tenon/core/error.hpp>

namespace tenon::detail {

inline device_loop_step::device_loop_step(device_loop_steps& all, const runtime::step_plan::lease& s) :
    all_(all), step_(s.one_segment()) {
    if (step_ && !step_->is_told_to_end()) step_ = nullptr;
    if (!step_) return;
    const std::lock_guard lock(all_.guard);
    all_.steps.push(*this);
}
inline device_loop_step::~device_loop_step() {
    if (!step_) return;
    const std::lock_guard lock(all_.guard);
    all_.steps.remove(*this);
}
inline void device_loop_steps::stop() noexcept {
    const std::lock_guard lock(guard);
    steps.for_each([](const device_loop_step& s) { s.step_->stop(); });
}

// Ends a step that somebody runs when its time has come.
class step_limit final : private deadlines::entry {
public:
    step_limit(const runtime::step_plan::lease& s, const step& in, deadlines& all) : step_(s), all_(all) {
        is_added_ = in.limited() && (s.several() || s.one_segment()->is_told_to_end());
        if (is_added_) all_.add(*this, in.deadline);
    }
    ~step_limit() {
        if (is_added_) all_.remove(*this); // whose lock all steps of the task share
    }

private:
    void due() noexcept override {
        if (step_.several()) step_.several()->expire();
        else (void)step_.one_segment()->expire();
    }
    const runtime::step_plan::lease& step_;
    deadlines& all_;
    bool is_added_ = false;
};

// A step on the pool's threads. It holds itself until it has ended.
class local_pending final : public pending_state,
                            public std::enable_shared_from_this<local_pending>,
                            private runtime::run_owner,
                            private deadlines::entry {
public:
    local_pending(std::shared_ptr<local_session> s, std::shared_ptr<runtime::step_plan> plan,
                  std::vector<any_array> fed, std::size_t fetches, local_callable::completed then) :
        then_(std::move(then)),
        session_(std::move(s)),
        lease_(std::move(plan)),
        fed_(std::move(fed)),
        fetched_(fetches + 1) {
        for (const any_array& a : fed_) pointers_.push_back(&a);
        in_.may_be_stopped = true;
    }
    ~local_pending() { session_->limits().remove(*this); }

    static void start(const std::shared_ptr<local_pending>& p, double timeout, trace* t,
                      step::clock::time_point deadline) {
        p->session_->begin(p->in_, timeout);
        p->in_.deadline = std::min(p->in_.deadline, deadline);
        p->looping_.emplace(p->session_->device_loops_, p->lease_);
        if (p->in_.limited() && !p->in_.time) p->session_->limits().add(*p, p->in_.deadline);
        const runtime::run_environment e{&p->in_, t, nullptr};
        std::optional<denormal_scope> flushed;
        if (p->session_->options.flush_denormals) flushed.emplace(flushed_denormals);
        thread_pool& pool = *p->session_->pool_;
        if (runtime::distributed_step* s = p->lease_.several()) {
            s->start(p->pointers_.data(), e, p->session_->in_flight_, pool, [p] { p->end(); });
            return;
        }
        work_item begins = [p, e, mode = denormal_mode(), payer = current_payer()] {
            const denormal_scope scope(mode);
            const payer_scope pays(payer);
            p->begin(e);
        };
        p->self_ = p;
        try {
            pool.submit(std::move(begins));
        } catch (...) { // no memory
            p->self_.reset();
            throw;
        }
    }
    void get(any_array* fetched) override {
        std::unique_lock lock(guard_);
        changed_.wait(lock, [&] { return ended_; });
        if (taken_)
            throw failed_precondition_error(
                "pending_step::get: the results of this step were taken before; call it once");
        taken_ = true;
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr)); // from here on the caller's alone
        for (std::size_t f = 0; f + 1 < fetched_.size(); ++f) fetched[f] = std::move(fetched_[f]);
    }
    bool wait_for(double seconds) override {
        std::unique_lock lock(guard_);
        return changed_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, 1e9)), [&] { return ended_; });
    }
    void stop() noexcept override {
        (void)in_.stop();
        if (lease_.several())
            lease_.several()->stop(
                failure_of([] { return cancelled_error("the step was stopped (pending_step::stop)"); }));
        else lease_.one_segment()->stop();
    }
    // What computes sees itself that its time has come.
    void expire() noexcept override {
        if (!lease_.several()) {
            (void)lease_.one_segment()->expire();
            return;
        }
        late_.store(true, std::memory_order_relaxed);
        lease_.several()->expire();
    }

    std::vector<runtime::awaited> waits() { // one segment has nothing that waits
        return lease_.several() ? lease_.several()->waits() : std::vector<runtime::awaited>();
    }

private:
    // Whoever polls it, or has dropped it.
    void due() noexcept override {
        if (const std::shared_ptr<local_pending> self = weak_from_this().lock()) self->expire();
    }
    void begin(const runtime::run_environment& e) {
        try {
            lease_.one_segment()->start(pointers_.data(), fetched_.data(), e, *this);
        } catch (...) {
            ended(std::current_exception());
        }
    }
    void go_on() noexcept override {
        try {
            session_->pool_->submit([p = self_] { p->lease_.one_segment()->work(); });
        } catch (...) { // no memory: this thread does it
            lease_.one_segment()->work();
        }
    }
    void ended(std::exception_ptr failure) noexcept override {
        const std::shared_ptr<local_pending> self = std::move(self_);
        end(std::move(failure));
    }
    void end() {
        end(thrown_by([&] {
            try {
                lease_.several()->take(fetched_.data());
            } catch (const deadline_exceeded_error& e) {
                if (!late_.load(std::memory_order_relaxed)) throw;
                throw deadline_exceeded_error(e.what() + session_->idle_runners(*lease_.several()));
            }
        }));
    }
    void end(std::exception_ptr failure) {
        session_->limits().remove(*this);
        looping_.reset();
        if (failure)
            failure = thrown_by([&] {
                naming_out_of_memory([] { return std::string("a step that was started"); },
                                     [&] { std::rethrow_exception(failure); });
            });
        if (then_) {
            fetched_.pop_back();
            then_(std::move(fetched_), std::move(failure));
            return;
        }
        const std::lock_guard lock(guard_);
        failure_ = std::move(failure);
        ended_ = true;
        changed_.notify_all();
    }

    // Who is told, in place of get(). It ends last: what it holds may be what the session's own end needs.
    const local_callable::completed then_;
    std::shared_ptr<local_session> session_;
    runtime::step_plan::lease lease_;
    std::shared_ptr<local_pending> self_; // while a step of one segment is in flight
    std::vector<any_array> fed_;
    std::vector<const any_array*> pointers_;
    step in_;
    std::optional<device_loop_step> looping_;
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::vector<any_array> fetched_; // and one more, so that there is a first
    std::exception_ptr failure_;
    bool ended_ = false, taken_ = false;
    std::atomic<bool> late_{false};
};

} // namespace tenon::detail
