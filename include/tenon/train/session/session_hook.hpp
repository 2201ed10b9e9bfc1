#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/runtime/session/session.hpp>

/// What goes on beside the steps of a monitored session (train/session/monitored_session.hpp).

namespace tenon {

/// What a hook is told, and may ask for. Of the monitored session that calls it, for the length of the call.
class hook_context {
public:
    virtual ~hook_context() = default;
    /// The session. What a hook runs with it is no step of the monitored session: no hook is called for it.
    virtual tenon::session& session() = 0;
    virtual bool is_chief() const = 0;
    /// The steps end: should_stop() is true from now on.
    virtual void request_stop() = 0;
    /// The graph's global step after the step that was run; where there is none, how many steps were run. Others may have
    /// moved it on meanwhile: read it where that matters.
    virtual std::int64_t step() const = 0;
    /// Seconds, of the monitored session's clock.
    virtual double now() const = 0;
    /// In before_run: whether the step that is to come can compute x, too, since all that this is computed of is fed to it, or taken by it from
    /// queues and iterators anyway.
    virtual bool can_compute(const any_tensor& x) const { return (void)x, true; }
};

/// Called by the thread that runs the steps, in the order in which the hooks were given. What it throws passes on.
class session_hook {
public:
    virtual ~session_hook() = default;
    /// Once, before there is a session, in the scope of its graph: nodes may be made.
    virtual void begin() {}
    /// In the session that is opened, before this process, as the chief, initialises or restores its variables.
    virtual void giving_values(hook_context&) {}
    /// Whenever a session was opened and its variables have values; `rebuilt`: they were initialised or restored just now.
    virtual void opened(hook_context&, bool rebuilt) { (void)rebuilt; }
    /// Before each step: what it fetches for this hook.
    virtual std::vector<any_tensor> before_run(hook_context&) { return {}; }
    /// After it: the values of those. Not where the step failed.
    virtual void after_run(hook_context&, const std::vector<any_array>& fetched) { (void)fetched; }
    /// Around a save, of whatever comes of it.
    virtual void saving(hook_context&) {}
    virtual void saved(hook_context&) noexcept {}
    /// Once, when the monitored session is closed and the session is open.
    virtual void end(hook_context&) {}
};

/// When something is due that is done now and then: after so many steps, or so many seconds, whichever is given and comes first.
struct hook_period {
    std::int64_t steps = 0; ///< 0: steps do not count
    double seconds = 0;     ///< 0: time does not count
};

/// Where a hook's lines go; not set: standard error.
using hook_log = shared_function<void(const std::string& line)>;

/// Stops when the global step is `last` or more.
std::shared_ptr<session_hook> stop_at_step(std::int64_t last);
/// Lines such as "step 700: loss = 0.25, accuracy = 0.9", in the first step and then by the period; every 100 steps, where none is
/// given. The values are those that the step computes; of steps that cannot (hook_context::can_compute) there are no lines.
std::shared_ptr<session_hook> log_tensors(std::vector<any_tensor> tensors, hook_period every = {}, hook_log to = {});
/// A step whose `loss` is not a number, or infinite, is a failed_precondition_error that names it; with `stop`, it ends the steps. It looks at steps
/// that can compute the loss (hook_context::can_compute).
std::shared_ptr<session_hook> nan_guard(const any_tensor& loss, bool stop = false);
namespace detail {
struct give_the_tensor_not_its_name {};
} // namespace detail
std::shared_ptr<session_hook> nan_guard(const char*, bool = false, detail::give_the_tensor_not_its_name = {}) = delete;
/// Lines such as "step 700: 12.5 steps/s", of the global step, by the period; every 100 steps, where none is given.
std::shared_ptr<session_hook> step_rate(hook_period every = {}, hook_log to = {});

namespace detail {
/// Every 100 steps where none is given; invalid_argument_error, of `whose`, for numbers below 0.
hook_period checked_period(hook_period p, const char* whose);
/// hook_context::can_compute, of all.
bool can_compute_all(const hook_context& c, const std::vector<any_tensor>& all);
/// Asks and remembers when something was done.
class hook_timer {
public:
    explicit hook_timer(hook_period every) : every_(every) {}
    bool due(std::int64_t step, double now) const noexcept {
        return !set_ || (every_.steps > 0 && step - step_ >= every_.steps) ||
               (every_.seconds > 0 && now - at_ >= every_.seconds);
    }
    /// It was done.
    void set(std::int64_t step, double now) noexcept {
        at_ = now;
        step_ = step;
        set_ = true;
    }
    double at() const noexcept { return at_; }
    std::int64_t step() const noexcept { return step_; }
    bool was_set() const noexcept { return set_; }

private:
    hook_period every_;
    double at_ = 0;
    std::int64_t step_ = 0;
    bool set_ = false;
};
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/session/session_hook.ipp>
#endif
