#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/core/options.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/optimize/gradient_and_variable.hpp>
#include <tenon/train/optimize/loss_scale.hpp>
#include <tenon/train/optimize/schedules.hpp>

/// Optimisers: operations that change variables so that a loss becomes smaller.
///
///     auto train = tn::adam(1e-3).minimize(loss);                    // all variables that matter
///     auto slow  = tn::gradient_descent(tn::exponential_decay(0.1, {.steps = 1000, .factor = 0.9})).minimize(loss);
///
///     tn::momentum opt(0.1, 0.9, {.nesterov = true});                // the same in parts
///     auto clipped = tn::clip_by_global_norm(opt.compute_gradients(loss), 5);
///     auto careful = opt.apply_gradients(clipped);
///
///     auto large = tn::accumulated(tn::lamb(2e-3), 8).minimize(loss);   // the mean gradient of 8 runs is one step (accumulated.hpp)
///     tn::moving_average average(0.999);                                // of weights (moving_average.hpp)
///
/// In the formulas g is a variable's gradient, w the variable, and rate the learning rate. Each update is one pass over
/// the memory of a variable and of what its optimiser keeps beside it (its slots, which are variables too: saved with
/// the others, never trained). Slots begin at 0 where nothing else is said; those of half and bfloat16 variables are float.
///
/// Where a gradient is sparse (sparse_rows in ops/shape/gather.hpp), as that of an embedding is, the rows that it names are
/// all that is read and written, of the variable and of its slots: a step takes no time and no memory for the others.
/// Rows named twice are added up first. For gradient descent and Adagrad this is what the dense gradient gives. The other
/// optimisers leave the slots of rows that are not named as they are, as TensorFlow's do; Adam too, where TensorFlow lets
/// them decay: its own sparse form is as slow as the dense one, and moves rows that no example has named.

namespace tenon {

namespace detail {
template <class X> inline constexpr bool is_rate = false;
template <Typed X>
inline constexpr bool is_rate<X> = X::shape_type::rank == 0 && is_floating(element_type_of<typename X::element_type>);
} // namespace detail

/// Step length: a number, or a floating scalar tensor, such as a schedule makes.
class learning_rate {
public:
    template <class N>
        requires(!std::is_same_v<N, ill_shaped>)
    learning_rate(const N& number_or_scalar) { // NOLINT: what is one is taken
        if constexpr (std::is_arithmetic_v<N>) number_ = static_cast<double>(number_or_scalar);
        else if constexpr (detail::is_rate<N>) tensor_ = detail::as_tensor(number_or_scalar);
        else
            static_assert(
                detail::is_mistake<N>,
                "tenon::learning_rate: it is a number or a floating scalar tensor, the first argument of an optimiser: "
                "adam(1e-3, {.beta1 = 0.8})");
    }
    bool is_number() const noexcept { return tensor_.node() == nullptr; }
    double number() const noexcept { return number_; }
    const any_tensor& tensor() const noexcept { return tensor_; }

private:
    double number_ = 0;
    any_tensor tensor_;
};

namespace detail {
/// Those of the graph's forward_updates that are computed of what the gradients depend on.
std::vector<operation> forward_updates_of(const std::vector<gradient_and_variable>& gradients);
} // namespace detail

struct minimize_options {
    /// The variables to change; empty: all trainable variables of the graph that the loss depends on.
    std::vector<any_tensor> variables{};
    /// Whether the graph's global_step() counts this operation's runs.
    bool advance_global_step = true;
    /// Of the operation.
    std::string name = "train";
    /// What makes the loss larger, and its gradients (loss_scale.hpp). apply_gradients() takes gradients that were unscaled.
    std::optional<loss_scale> scale{};
    /// A variable of half or bfloat16 has a float beside it, its slot "master", which is what is updated; the variable is that,
    /// rounded. So steps smaller than the variable's last bit are not lost. What is assigned to the variable becomes the master, too.
    bool float_masters = false;
};

namespace detail {
class update_writer;
class update_setup;
/// True of what `gradients` answers where the loss does not depend on the variable.
bool is_no_gradient(const gradient_and_variable& of);
} // namespace detail

/// What all optimisers can do. A value: it holds its settings only, and may be used for several losses. A setting that
/// makes no sense (a NaN, a beta that is not in [0, 1), ..) is an invalid_argument_error when the optimiser is made.
class optimizer {
public:
    virtual ~optimizer();

    /// An operation that computes the gradients of a scalar loss, from the values before the step, and changes the
    /// variables by them. Where a step runs several such operations, each changes what those made before it left. Says on standard error
    /// where the loss is a mean or sum over all of [n, 1] beside [n] (doubtful_loss.hpp). Throws invalid_argument_error when the
    /// loss depends on none of the variables.
    // One function, so that a compiler that refuses a call has little to say.
    template <class L = detail::any_argument>
    operation minimize(const L& loss = {}, const minimize_options& o = {}) const {
        if constexpr (std::is_same_v<L, detail::any_argument>) {
            static_assert(detail::is_mistake<L>, "tenon::optimizer::minimize: say of what: minimize(loss)");
            return {};
        } else if constexpr (detail::UntypedTensor<L>) return minimize_untyped(loss, o);
        else {
            using verdict = detail::verdict_on_operands<detail::gradients_rule, L>;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            if constexpr (!verdict::fits) return {};
            else return minimize_untyped(detail::as_tensor(loss), o);
        }
    }

    /// The first half of minimize. `variables` empty: all trainable ones that the loss depends on.
    template <class L>
    static std::vector<gradient_and_variable> compute_gradients(const L& loss,
                                                                const std::vector<any_tensor>& variables = {}) {
        if constexpr (detail::UntypedTensor<L>) return gradients_of(loss, variables);
        else {
            using verdict = detail::verdict_on_operands<detail::gradients_rule, L>;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            if constexpr (!verdict::fits) return {};
            else return gradients_of(detail::as_tensor(loss), variables);
        }
    }

    template <auto..., class X = void> static std::vector<gradient_and_variable> compute_gradients() {
        static_assert(detail::is_mistake<X>,
                      "tenon::optimizer::compute_gradients: say of what: compute_gradients(loss)");
        return {};
    }

    /// The second half: the updates by any gradients. Throws invalid_argument_error where a gradient does not have
    /// its variable's type. Of o.variables nothing is asked.
    virtual operation apply_gradients(const std::vector<gradient_and_variable>& gradients,
                                      const minimize_options& o = {}) const;

    template <class G, class... V>
        requires(!std::is_convertible_v<const G&, std::vector<gradient_and_variable>>)
    operation apply_gradients(const G&, const V&...)
    const {
        static_assert(
            detail::is_mistake<G>,
            "tenon::optimizer::apply_gradients: it takes gradients with their variables, which compute_gradients(loss) "
            "gives");
        return {};
    }
    template <auto..., class X = void> operation apply_gradients() const {
        static_assert(detail::is_mistake<X>,
                      "tenon::optimizer::apply_gradients: say which: apply_gradients(compute_gradients(loss))");
        return {};
    }

    const std::string& name() const noexcept { return name_; }
    const learning_rate& rate() const noexcept { return rate_; }
    /// Those beside the learning rate, as text: "factor 0.9, nesterov 0". What is said here is the same in all replicas that train
    /// together (train/replicated/sync_replicas.hpp); an optimiser of one's own says what its updates depend on.
    virtual std::string settings() const { return {}; }

protected:
    optimizer(std::string name, learning_rate rate);
    optimizer(const optimizer&) = default;
    optimizer& operator=(const optimizer&) = default;
    /// The updates of step `step`, a scalar int64: a variable that has been updated in it, or in a later one, stays as it is. So
    /// updates of which some were made may be run again. `wanted`, a scalar bool: and only where it is true.
    operation apply_once(const std::vector<gradient_and_variable>& gradients, const minimize_options& o,
                         const any_tensor& step, const any_tensor& wanted = {}) const;

private:
    operation minimize_untyped(const any_tensor& loss, const minimize_options& o) const;
    static std::vector<gradient_and_variable> gradients_of(const any_tensor& loss,
                                                           const std::vector<any_tensor>& variables);
    friend class accumulated;
    friend class sync_replicas;
    friend class detail::update_writer;
    friend class detail::update_setup;

    // What all variables' updates share, such as a count of steps.
    virtual void begin(detail::update_setup&) const {}
    // Whether a sparse gradient changes the rows that it names alone; else it is taken as a dense one.
    virtual bool takes_rows() const { return true; }
    // Writes the update of one variable.
    virtual void write(detail::update_writer&) const = 0;

    std::string name_;
    learning_rate rate_;
};

namespace detail {
// What gradient_descent has in other libraries.
struct options_of_momentum {
    double momentum = 0, dampening = 0, weight_decay = 0;
    bool nesterov = false;
};
} // namespace detail

/// w -= rate * g.
class gradient_descent : public optimizer {
public:
    gradient_descent() = delete; // give it a learning rate: gradient_descent(0.1)
    explicit gradient_descent(learning_rate rate) : optimizer("gradient_descent", std::move(rate)) {}
    template <class A, class B = detail::options_of_momentum, class... More>
    gradient_descent(A, B, More...) = delete; // a rate alone: gradient_descent(0.1); momentum has a factor

private:
    void write(detail::update_writer&) const override;
};

struct momentum_options {
    bool nesterov = false;
};

/// m = factor * m + g; w -= rate * m, with factor 0.9 where none is given. B. Polyak, USSR Comp. Math. 4 (1964).
/// With nesterov, w -= rate * (g + factor * m): I. Sutskever et al., ICML 2013.
class momentum : public optimizer {
public:
    momentum() = delete; // give it a learning rate: momentum(0.1)
    explicit momentum(learning_rate rate, double factor = 0.9, const momentum_options& o = {});
    momentum(learning_rate rate, const momentum_options& o) : momentum(std::move(rate), 0.9, o) {}
    TENON_OTHER_BRACES(momentum(learning_rate, double, detail::other_braces_than<momentum_options, N>&));
    TENON_OTHER_BRACES(momentum(learning_rate, detail::other_braces_than<momentum_options, N>&));
    std::string settings() const override;

private:
    void write(detail::update_writer&) const override;
    double momentum_;
    momentum_options options_;
};

struct adagrad_options {
    double initial = 0.1; ///< of the sum of squares
    double epsilon = 1e-7;
};

/// s += g^2; w -= rate * g / (sqrt(s) + epsilon), where s begins at `initial`, 0.1 unless it is given; epsilon is 1e-7. J. Duchi et al., JMLR 12 (2011).
class adagrad : public optimizer {
public:
    adagrad() = delete; // give it a learning rate: adagrad(0.1)
    explicit adagrad(learning_rate rate, const adagrad_options& o = {});
    TENON_OTHER_BRACES(adagrad(learning_rate, detail::other_braces_than<adagrad_options, N>&));
    TENON_OTHER_BRACES(explicit adagrad(detail::other_braces_than<learning_rate, N>&, ...));
    TENON_OTHER_ARGUMENTS(adagrad, adagrad_options, first_the_learning_rate_then_options_in_braces);
    std::string settings() const override;

private:
    void write(detail::update_writer&) const override;
    adagrad_options options_;
};

struct rmsprop_options {
    double decay = 0.9;
    double momentum = 0;
    double epsilon = 1e-7;
    bool centered = false;
};

/// s = decay * s + (1 - decay) * g^2; m = momentum * m + rate * g / (sqrt(s) + epsilon); w -= m. Unless they are given decay is 0.9, momentum 0,
/// epsilon 1e-7.
/// T. Tieleman, G. Hinton, lecture 6.5 (2012). Centered, the square of a running mean of g is taken off s under
/// the root: A. Graves, arXiv:1308.0850.
class rmsprop : public optimizer {
public:
    rmsprop() = delete; // give it a learning rate: rmsprop(0.1)
    explicit rmsprop(learning_rate rate, const rmsprop_options& o = {});
    TENON_OTHER_BRACES(rmsprop(learning_rate, detail::other_braces_than<rmsprop_options, N>&));
    TENON_OTHER_BRACES(explicit rmsprop(detail::other_braces_than<learning_rate, N>&, ...));
    TENON_OTHER_ARGUMENTS(rmsprop, rmsprop_options, first_the_learning_rate_then_options_in_braces);
    std::string settings() const override;

private:
    void write(detail::update_writer&) const override;
    rmsprop_options options_;
};

struct adam_options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0; ///< more than 0: AdamW
};

/// m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
/// w -= rate * (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * w), in the t-th update. Unless they are given rate is 0.001,
/// beta1 0.9, beta2 0.999, epsilon 1e-8, weight_decay 0.
/// D. Kingma, J. Ba, ICLR 2015; the decay of weights: I. Loshchilov, F. Hutter, ICLR 2019.
class adam : public optimizer {
public:
    explicit adam(learning_rate rate = 0.001, const adam_options& o = {});
    TENON_OTHER_BRACES(adam(learning_rate, detail::other_braces_than<adam_options, N>&));
    TENON_OTHER_BRACES(explicit adam(detail::other_braces_than<learning_rate, N>&, ...));
    TENON_OTHER_ARGUMENTS(adam, adam_options, first_the_learning_rate_then_options_in_braces);
    std::string settings() const override;

private:
    void begin(detail::update_setup&) const override;
    void write(detail::update_writer&) const override;
    adam_options options_;
};

struct radam_options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0; ///< apart from the gradient, as AdamW's
};

/// Adam's settings, m and v, and of the t-th update rho = R - 2 t beta2^t / (1 - beta2^t) with R = 2 / (1 - beta2) - 1: where rho > 5,
/// w -= rate * (m / (1 - beta1^t) * sqrt((rho - 4) (rho - 2) R / ((R - 4) (R - 2) rho)) * sqrt(1 - beta2^t) / (sqrt(v) + epsilon) + weight_decay * w);
/// before that, while the variance of v is not tractable, w -= rate * (m / (1 - beta1^t) + weight_decay * w).
/// L. Liu et al., On the variance of the adaptive learning rate and beyond, ICLR 2020. Needs no warm-up.
class radam : public optimizer {
public:
    explicit radam(learning_rate rate = 0.001, const radam_options& o = {});
    TENON_OTHER_BRACES(radam(learning_rate, detail::other_braces_than<radam_options, N>&));
    TENON_OTHER_BRACES(explicit radam(detail::other_braces_than<learning_rate, N>&, ...));
    TENON_OTHER_ARGUMENTS(radam, radam_options, first_the_learning_rate_then_options_in_braces);
    std::string settings() const override;

private:
    void begin(detail::update_setup&) const override;
    void write(detail::update_writer&) const override;
    radam_options options_;
};

struct lamb_options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-6;
    double weight_decay = 0;
};

/// u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * w with Adam's settings, m and v, but epsilon 1e-6;
/// w -= rate * |w| / |u| * u with Euclidean norms over the variable, where the quotient is 1 if either norm is 0: for batches of thousands. Y. You et
/// al., Large batch optimization for deep learning, ICLR 2020. A sparse gradient is taken as the dense one that it is, for the norms are of all rows; of
/// a variable in parts each part has its own.
class lamb : public optimizer {
public:
    explicit lamb(learning_rate rate = 0.001, const lamb_options& o = {});
    TENON_OTHER_BRACES(lamb(learning_rate, detail::other_braces_than<lamb_options, N>&));
    TENON_OTHER_BRACES(explicit lamb(detail::other_braces_than<learning_rate, N>&, ...));
    TENON_OTHER_ARGUMENTS(lamb, lamb_options, first_the_learning_rate_then_options_in_braces);
    std::string settings() const override;

private:
    bool takes_rows() const override { return false; }
    void begin(detail::update_setup&) const override;
    void write(detail::update_writer&) const override;
    lamb_options options_;
};

struct lion_options {
    double beta1 = 0.9;
    double beta2 = 0.99;
    double weight_decay = 0;
};

/// w -= rate * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * w); m = beta2 * m + (1 - beta2) * g. Unless they are given rate is 0.0001 (a third to
/// a tenth of Adam's fits), beta1 0.9, beta2 0.99, weight_decay 0. X. Chen et al., Symbolic discovery of optimization algorithms, NeurIPS 2023.
class lion : public optimizer {
public:
    explicit lion(learning_rate rate = 0.0001, const lion_options& o = {});
    TENON_OTHER_BRACES(lion(learning_rate, detail::other_braces_than<lion_options, N>&));
    TENON_OTHER_BRACES(explicit lion(detail::other_braces_than<learning_rate, N>&, ...));
    TENON_OTHER_ARGUMENTS(lion, lion_options, first_the_learning_rate_then_options_in_braces);
    std::string settings() const override;

private:
    void write(detail::update_writer&) const override;
    lion_options options_;
};

/// Each element of each gradient, not below `low` and not above `high`. Here and below sparse gradients stay sparse,
/// but where the bounds exclude 0.
std::vector<gradient_and_variable> clip_by_value(std::vector<gradient_and_variable> gradients, double low, double high);
/// Each gradient scaled down to the Euclidean norm `limit` where it has a larger one.
std::vector<gradient_and_variable> clip_by_norm(std::vector<gradient_and_variable> gradients, double limit);
/// All gradients scaled down by one factor where the norm of all together is larger than `limit`.
/// R. Pascanu et al., ICML 2013.
std::vector<gradient_and_variable> clip_by_global_norm(std::vector<gradient_and_variable> gradients, double limit);
// Of a tensor, as other libraries have it.
namespace detail {
template <class... X> ill_shaped gradients_are_clipped() {
    static_assert(is_mistake<X...>, "tenon: gradients are clipped, clip_by_norm(opt.compute_gradients(loss), 5); of a "
                                    "tensor write clip(x, -1.0f, 1.0f)");
    return {};
}
// Worse than what takes gradients: those are made of what the first argument is.
template <class... X> inline constexpr bool are_clipped = false;
template <class X, class... N>
    requires(sizeof...(N) > 0)
inline constexpr bool are_clipped<X, N...> =
    std::is_convertible_v<const X&, std::vector<gradient_and_variable>> && (std::is_arithmetic_v<N> && ...);
} // namespace detail
template <class... X>
    requires(!detail::are_clipped<X...>)
ill_shaped clip_by_value(const X&...) { return detail::gradients_are_clipped<X...>(); }
template <class... X>
    requires(!detail::are_clipped<X...>)
ill_shaped clip_by_norm(const X&...) { return detail::gradients_are_clipped<X...>(); }
template <class... X>
    requires(!detail::are_clipped<X...>)
ill_shaped clip_by_global_norm(const X&...) { return detail::gradients_are_clipped<X...>(); }
/// The Euclidean norm of all gradients together.
tensor<double, shape<>> global_norm(const std::vector<gradient_and_variable>& gradients);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/optimize/optimizers.ipp>
#endif
