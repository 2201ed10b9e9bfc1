#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <tenon/runtime/session/session.hpp>
#include <tenon/train/optimize/moving_average.hpp>
#include <tenon/train/optimize/optimizers.hpp>
#include <tenon/train/session/session_hook.hpp>

/// Synchronous training between graphs (SEMANTICS 41): each replica is a process with a graph of its own, the variables are on
/// parameter servers, and a step averages the gradients of several replicas.
///
///     tn::sync_replicas sync(tn::momentum(0.1), {.aggregate = 3, .total = 4, .replica = self.replica()});
///     auto train = sync.minimize(loss);
///     tn::monitored_session sess({.target = self.target(), .is_chief = self.is_chief(), .hooks = {sync.hook()}});
///     sess.loop([&] { sess.run(tn::feed(x, images), tn::feed(y, labels), train); });
///
/// **A step.** A replica's run of `train` computes gradients, hands each to an accumulator on its variable's task, and returns
/// when the step is over. As soon as `aggregate` replicas have handed over all of theirs, their average is applied once, in double
/// the same to rounding as one step on their batches joined, where these are of one size. The sum is in the order of the replicas, so
/// that it does not depend on who came first.
///
/// **Replicas that are late.** Those beyond `aggregate` are backups: what comes when a step is over is stale, dropped and
/// counted; its replica goes on with the next step. A gradient counts only if all of its variables' parts are there, and if it was
/// computed of variables no older than the step: its replica has had the token of that step, which is for it alone.
///
/// **Who applies.** Each process with a hook() (or start()) stands by, and one at a time applies. Where it is lost, another
/// one does the step again: beside each variable stands (`<variable>/next_step`, which is saved with it) in which steps it has been
/// updated, so none is updated twice. There is no chief whose loss would stop the others.
///
/// **Elastic.** With `aggregate` 0 a step averages one gradient of each replica that takes part at the moment, which is whoever has
/// come and has neither left nor been lost. With a number, replicas beyond it may come and go.
///
/// Replicas that do not train the same (other variables, sizes, optimisers, settings, numbers) are refused with invalid_argument_error, which
/// names what differs, before anything is changed. Where variables are lost and restored, gradients under way are dropped.
/// Gradients wait in the memory of the hosts of their variables' tasks: one of each replica.

namespace tenon {

struct sync_replicas_options {
    /// Gradients that a step averages, each of another replica; 0: of all that take part.
    int aggregate = 0;
    /// Replicas that there are, or may be.
    int total = 1;
    /// This one, 0 to total - 1.
    int replica = 0;
    /// Averages of the variables that are trained, of what each step leaves that is applied; all replicas have one. Its after() is not called.
    std::optional<moving_average> average{};
};

namespace detail {
class sync_state;
class sync_applying;
class sync_pause;
} // namespace detail

/// An optimiser that has another one apply the average of several replicas' gradients. Its operations are run by all replicas.
class sync_replicas final : public optimizer {
public:
    /// invalid_argument_error where the numbers make no sense.
    template <std::derived_from<optimizer> O>
    sync_replicas(O how, const sync_replicas_options& o) :
        sync_replicas(std::make_shared<const O>(std::move(how)), o) {}
    ~sync_replicas() override;

    /// The replica's part of a step. All replicas make the same calls, in the same order.
    operation apply_gradients(const std::vector<gradient_and_variable>& gradients,
                              const minimize_options& o = {}) const override;

    /// What a monitored session does beside its steps: this process stands by to apply, and gradients of lost variables are
    /// dropped. Of what was minimized before the session is made; failed_precondition_error where nothing was.
    std::shared_ptr<session_hook> hook() const;

    /// While it lives, this process stands by to apply in a session, which lives longer.
    class [[nodiscard]] applying {
    public:
        explicit applying(std::unique_ptr<detail::sync_applying> a);
        applying(applying&&) noexcept;
        applying& operator=(applying&&) noexcept;
        /// Takes part no more, but may come again. A step that it applies is ended.
        ~applying();
        /// Nor will it come again: where too few are left for a step, others that wait for it are told so, by end_of_data_error.
        void finish() noexcept;

    private:
        std::unique_ptr<detail::sync_applying> a_;
    };
    /// The same as hook(), for other sessions: begins once variables have values.
    applying start(session& s) const;

    /// While it lives no step is applied, and none is half applied: all variables are of one step. For savers and evaluations; a
    /// monitored session with hook() saves so.
    class [[nodiscard]] pause {
    public:
        explicit pause(std::unique_ptr<detail::sync_pause> p);
        pause(pause&&) noexcept;
        pause& operator=(pause&&) noexcept;
        ~pause();

    private:
        std::unique_ptr<detail::sync_pause> p_;
    };
    /// Waits for the end of a step that is being applied; deadline_exceeded_error after `limit` seconds.
    pause between_steps(session& s, double limit = 60) const;

    // Of the last operation that was made; failed_precondition_error where there is none.

    /// In a step that runs it: whether this replica's gradient was in the average.
    tensor<bool, shape<>> counted() const;
    /// How many steps are over.
    tensor<std::int64_t, shape<>> step() const;
    /// Replicas that take part.
    tensor<std::int64_t, shape<>> present() const;
    /// Gradients that were dropped, by replica.
    tensor<std::int64_t, shape<dyn>> dropped() const;

private:
    sync_replicas(std::shared_ptr<const optimizer> how, const sync_replicas_options& o);
    bool takes_rows() const override { return how_->takes_rows(); }
    void begin(detail::update_setup& s) const override { how_->begin(s); }
    void write(detail::update_writer& w) const override { how_->write(w); }

    std::shared_ptr<const optimizer> how_;
    std::shared_ptr<detail::sync_state> state_; // shared with hooks
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/replicated/sync_replicas.ipp>
#endif
