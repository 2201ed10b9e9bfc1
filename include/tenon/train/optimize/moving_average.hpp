#pragma once

#include <memory>
#include <vector>

#include <tenon/core/options.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/ops/state/state.hpp>

/// The exponential moving average of weights, which generalises better than what training last left (B. Polyak, A. Juditsky, SIAM J. Control Optim.
/// 30 (1992)).
///
///     tn::moving_average average(0.999);
///     auto train = average.after(tn::adam(1e-3).minimize(loss));     // a step, and then the averages of what it left
///     ...
///     {
///         const auto averaged = average.swapped(sess);               // variables have their averages ..
///         evaluate(sess);
///     }                                                              // .. and are what they were

namespace tenon {

class session;

struct moving_average_options {
    /// Whether the t-th update takes min(decay, (1 + t) / (10 + t)), so that the first steps are soon forgotten.
    bool warm_up = false;
};

/// average := decay * average + (1 - decay) * variable. Averages are slots "moving_average", float where variables are 16 bits, which begin as the
/// variables do; saved with the others, never trained. Copies are of the same averages. Of mirrored variables they are of the first replica's:
/// mirrored_strategy::broadcast() is run after a swap.
class moving_average {
public:
    moving_average() = delete; // give it a decay: moving_average(0.999)
    /// Throws invalid_argument_error unless 0 <= decay < 1.
    explicit moving_average(double decay, const moving_average_options& o = {});
    TENON_OTHER_BRACES(moving_average(double, detail::other_braces_than<moving_average_options, N>&));
    TENON_OTHER_ARGUMENTS(moving_average, moving_average_options, the_decay_then_options_in_braces);

    /// An operation that runs `step`, and then updates the averages of the variables; none: of all trainable ones of the graph. Runs in which an
    /// optimiser changes nothing (accumulated(), a loss_scale whose gradients are not finite) leave the averages as they are. Call it once, or for
    /// different variables. The step of one of several replicas is an invalid_argument_error: sync_replicas_options::average has such averages.
    operation after(const operation& step, const std::vector<any_tensor>& variables = {}) const;
    /// The average of a variable; throws invalid_argument_error where there is none.
    any_tensor of(const any_tensor& variable) const;

    /// An operation after which the averages are what the variables are, as is wanted where weights were loaded of which no averages were saved.
    operation restart() const;
    /// An operation that has the variables keep their values in slots "held", and be their averages; and one that has them be what they kept.
    operation swap_in() const;
    operation swap_out() const;

    /// Swapped in while it lives.
    class [[nodiscard]] swap {
    public:
        swap(const moving_average& of, session& in);
        swap(swap&&) = delete;
        /// Tells nobody of an error; restore() does.
        ~swap();
        /// Swaps out now.
        void restore();

    private:
        session* in_;
        operation out_;
    };
    swap swapped(session& s) const { return {*this, s}; }

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/optimize/moving_average.ipp>
#endif
