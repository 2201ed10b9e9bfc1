#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include <tenon/core/options.hpp>
#include <tenon/nn/layer.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/normalization.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Layers that normalise. The last size of x, that of its features or channels, is a number n; what they learn is gamma and beta, [n].
///
///     auto h = tn::nn::layer_norm()(x);              // over the last axis
///     auto r = tn::nn::rms_norm()(x);
///     auto b = tn::nn::batch_norm()(x, phase);       // of each feature over all else; [batch, height, width, 64] or [batch, 64]
///     auto g = tn::nn::group_norm<8>()(x);           // of each example, over all positions and groups of features
///     auto i = tn::nn::instance_norm()(x);           // of each example and feature, over all positions
///
/// Half and bfloat16 are normalised in float.

namespace tenon::nn {

struct normalization_options {
    double epsilon = 1e-5; ///< added to the variance
    initializer gamma = ones();
    initializer beta = zeros();
    std::string name = {}; ///< its variables are NAME/gamma, NAME/beta, ..; "": that of the layer
};
struct batch_norm_options {
    double epsilon = 1e-5;
    double momentum = 0.99; ///< what a training step leaves of a moving average
    initializer gamma = ones();
    initializer beta = zeros();
    std::string name = "batch_norm";
};

/// What the compiler checks when such a layer is called. in: x.
template <fixed_string Name, int LeastRank> struct normalization_rule {
    static constexpr const char* name = Name.text;
    struct attributes {
        int groups = 1;
    };
    static constexpr char groups_do_not_divide[] = "the number of groups does not divide the number of features";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        const int rank = in[0].extents.rank();
        if (rank < LeastRank) return fault::rank_too_low;
        if (!in[0].extents[rank - 1].is_number()) return fault::size_must_be_known;
        if (in[0].extents[rank - 1].size % a.groups != 0) return groups_do_not_divide;
        return inferred(in[0]);
    }
};

} // namespace tenon::nn

namespace tenon::detail {

template <class X> inline constexpr auto features_of = X::shape_type::extents[X::shape_type::rank - 1].size;
template <class T> using normalized_in = std::conditional_t<sizeof(T) < sizeof(float), float, T>;

template <class C, class X> auto widened_to(const X& x) {
    if constexpr (std::is_same_v<typename X::element_type, C>) return x;
    else return as_tensor(cast<C>(x));
}
template <class T, class Y> auto narrowed_to(const Y& y) {
    if constexpr (std::is_same_v<typename Y::element_type, T>) return as_tensor(y);
    else return as_tensor(cast<T>(y));
}

// (x - mean) / sqrt(variance + epsilon) over the axes.
template <int... Axes, class X> auto standardized(const X& x, double epsilon) {
    const auto [m, v] = moments<Axes...>(x, keepdims);
    const auto factor =
        as_tensor(rsqrt(v + static_cast<typename X::element_type>(epsilon))); // once, not for each element
    return as_tensor((x - m) * factor);
}

// Enters variable := variable + part * (target - variable) as an update that training steps make beside those of variables: minimize() and
// apply_gradients() of gradients that depend on the target and on `parameter`, which is of the same layer. One node computes it of the target
// (forward_updates_of).
template <class V, class Target>
void add_forward_update(const V& variable, const Target& target, double part, const any_tensor& parameter) {
    const owned_scope there(variable);
    const auto now = Target::unchecked(current_value(variable));
    // What is no number, as of a batch without rows, would stay in it for ever.
    const auto next = as_tensor(
        select(is_finite(target), now + (target - now) * static_cast<typename Target::element_type>(part), now));
    graph::current().add_to_collection(forward_updates, untyped::assign(variable, next));
    graph::current().add_to_collection(forward_updates, parameter);
}

// Calls f with integer_sequence 0 .. N-1.
template <int N, class F> auto with_axes(const F& f) { return f(std::make_integer_sequence<int, N>()); }

} // namespace tenon::detail

namespace tenon::nn {

/// What most of them learn: a factor and an addend for each feature.
class gamma_and_beta {
public:
    const any_tensor& gamma() const noexcept { return gamma_.variable(); }
    const any_tensor& beta() const noexcept { return beta_.variable(); }

protected:
    template <class T, class X, class Options> auto get(const Options& o) const {
        using along = shape<detail::features_of<X>>;
        return std::pair{gamma_.template get<T, along>("gamma", o.gamma), beta_.template get<T, along>("beta", o.beta)};
    }
    parameter gamma_, beta_;
};

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta over the last axis (ops/rows/normalization.hpp).
class layer_norm : public gamma_and_beta {
    using rule = normalization_rule<"layer_norm", 1>;

public:
    template <class X> using judged = judgement<rule, detail::constant_attributes<rule::attributes{}>, X>;

    explicit layer_norm(normalization_options o = {}) : options_(std::move(o)) {}
    TENON_OTHER_BRACES(layer_norm(detail::other_braces_than<normalization_options, N>&));
    TENON_OTHER_ARGUMENT(layer_norm, options_in_braces_sizes_are_those_of_what_it_is_called_with);
    template <class X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            const first_call names(gamma_, options_.name.empty() ? "layer_norm" : options_.name);
            const auto [gamma, beta] = get<typename X::element_type, X>(options_);
            return detail::as_tensor(tenon::layer_norm(x, gamma, beta, options_.epsilon));
        }
    }

private:
    normalization_options options_;
};

/// x / sqrt(mean of squares + epsilon) * gamma over the last axis. B. Zhang, R. Sennrich, Root mean square layer normalization, NeurIPS 2019.
class rms_norm {
    using rule = normalization_rule<"rms_norm", 1>;

public:
    template <class X> using judged = judgement<rule, detail::constant_attributes<rule::attributes{}>, X>;

    explicit rms_norm(normalization_options o = {}) : options_(std::move(o)) {}
    TENON_OTHER_BRACES(rms_norm(detail::other_braces_than<normalization_options, N>&));
    TENON_OTHER_ARGUMENT(rms_norm, options_in_braces_sizes_are_those_of_what_it_is_called_with);
    template <class X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            using T = typename X::element_type;
            using C = detail::normalized_in<T>;
            const first_call names(gamma_, options_.name.empty() ? "rms_norm" : options_.name);
            const auto gamma = gamma_.template get<C, shape<detail::features_of<X>>>("gamma", options_.gamma);
            const auto wide = detail::widened_to<C>(detail::as_tensor(x));
            const auto squares = mean<-1>(square(wide), keepdims);
            const auto factor = detail::as_tensor(rsqrt(squares + static_cast<C>(options_.epsilon)));
            return detail::narrowed_to<T>(wide * factor * gamma);
        }
    }
    const any_tensor& gamma() const noexcept { return gamma_.variable(); }

private:
    normalization_options options_;
    parameter gamma_;
};

/// In training, each feature with the mean and variance (divided by n) that it has over all else of the batch; in inference with moving
/// averages of those, which every training step updates where they are finite: minimize() and apply_gradients() see to it. S. Ioffe, C. Szegedy, Batch
/// normalization, ICML 2015.
class batch_norm : public gamma_and_beta {
    using rule = normalization_rule<"batch_norm", 2>;

public:
    template <class X> using judged = judgement<rule, detail::constant_attributes<rule::attributes{}>, X>;

    /// Throws invalid_argument_error unless 0 <= momentum < 1.
    explicit batch_norm(batch_norm_options o = {});
    TENON_OTHER_BRACES(batch_norm(detail::other_braces_than<batch_norm_options, N>&));
    TENON_OTHER_ARGUMENT(batch_norm, options_in_braces_sizes_are_those_of_what_it_is_called_with);
    template <auto..., class X = void>
    ill_shaped operator()(detail::any_argument = {}, detail::any_argument = {}) const {
        return detail::no_tensor_or_phase<X>();
    }
    template <OperandOrIllShaped X>
    auto operator()(const X& x, phase p = inference, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            using T = typename X::element_type;
            using C = detail::normalized_in<T>;
            using along = shape<detail::features_of<X>>;
            const first_call names(gamma_, options_.name);
            const auto parameters = get<C, X>(options_);
            const auto &gamma = parameters.first, &beta = parameters.second;
            const auto moving_mean = mean_.template get<C, along>("moving_mean", zeros(), {.trainable = false});
            const auto moving_variance =
                variance_.template get<C, along>("moving_variance", ones(), {.trainable = false});
            const auto wide = detail::widened_to<C>(detail::as_tensor(x));
            const auto result = [&](const auto& m, const auto& v) {
                const auto factor = detail::as_tensor(rsqrt(v + static_cast<C>(options_.epsilon)) * gamma);
                return detail::narrowed_to<T>((wide - m) * factor + beta);
            };
            if (p == inference) return result(moving_mean, moving_variance);
            const auto [m, v] = detail::with_axes<X::shape_type::rank - 1>([&]<int... Axes>(
                std::integer_sequence<int, Axes...>) { return moments<Axes...>(wide); });
            detail::add_forward_update(moving_mean, m, 1 - options_.momentum, gamma);
            detail::add_forward_update(moving_variance, v, 1 - options_.momentum, gamma);
            // Of a batch without rows the variance is NaN, and gamma's gradient would be.
            return result(m, detail::as_tensor(select(is_nan(v), C(), v)));
        }
    }
    const any_tensor& moving_mean() const noexcept { return mean_.variable(); }
    const any_tensor& moving_variance() const noexcept { return variance_.variable(); }

private:
    batch_norm_options options_;
    parameter mean_, variance_;
};

/// Each example's groups of features with the mean and variance that they have over all its positions; Groups = 0: each feature is a
/// group. Y. Wu, K. He, Group normalization, ECCV 2018; D. Ulyanov, A. Vedaldi, V. Lempitsky, Instance normalization, 2016.
template <int Groups> class group_norm_layer : public gamma_and_beta {
    static_assert(Groups >= 0, "tenon::nn::group_norm: the number of groups must be positive");
    using rule =
        std::conditional_t<Groups == 0, normalization_rule<"instance_norm", 3>, normalization_rule<"group_norm", 2>>;

public:
    template <class X>
    using judged = judgement<rule, detail::constant_attributes<typename rule::attributes{Groups == 0 ? 1 : Groups}>, X>;

    explicit group_norm_layer(normalization_options o = {}) : options_(std::move(o)) {}
    template <class X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            using T = typename X::element_type;
            using C = detail::normalized_in<T>;
            const first_call names(this->gamma_, options_.name.empty() ? rule::name : options_.name);
            const auto [gamma, beta] = this->template get<C, X>(options_);
            const auto wide = detail::widened_to<C>(detail::as_tensor(x));
            constexpr int rank = static_cast<int>(X::shape_type::rank);
            const auto standard = detail::with_axes<rank - 1>([&]<int... Axes>(std::integer_sequence<int, Axes...>) {
                if constexpr (Groups == 0)
                    return detail::with_axes<rank - 2>([&]<int... A>(std::integer_sequence<int, A...>) {
                        return detail::standardized<(A + 1)...>(wide, options_.epsilon);
                    });
                else {
                    constexpr auto each = detail::features_of<X> / Groups;
                    const auto grouped = reshape<shape<kept<Axes>..., Groups, each>>(wide);
                    const auto done = detail::with_axes<rank - 2>([&]<int... A>(std::integer_sequence<int, A...>) {
                        return detail::standardized<(A + 1)..., rank>(grouped, options_.epsilon);
                    });
                    return reshape<shape<kept<Axes>..., detail::features_of<X>>>(done);
                }
            });
            return detail::narrowed_to<T>(standard * gamma + beta);
        }
    }

private:
    normalization_options options_;
};

template <int Groups> group_norm_layer<Groups> group_norm(const normalization_options& o = {}) {
    static_assert(Groups > 0, "tenon::nn::group_norm: the number of groups must be positive");
    return group_norm_layer<Groups>(o);
}
inline group_norm_layer<0> instance_norm(const normalization_options& o = {}) { return group_norm_layer<0>(o); }

} // namespace tenon::nn

#if TENON_HEADER_ONLY
#include <tenon/nn/normalization.ipp>
#endif
