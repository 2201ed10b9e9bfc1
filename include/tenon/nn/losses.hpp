#pragma once

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/elementwise/formulas.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/ctc.hpp>
#include <tenon/ops/rows/softmax.hpp>

/// What is made small, and what is told about a model: scalars, mean over the batch.
///
///     auto loss = tn::nn::cross_entropy(logits, labels);
///     auto smooth = tn::nn::cross_entropy(logits, labels, {.label_smoothing = 0.1});
///     auto part_right = tn::nn::accuracy(logits, labels);
///
/// Nothing is broadcast in a loss: predictions [batch, 1] and targets [batch] do not compile (squeeze the one, or expand the other).

namespace tenon {

namespace detail {

// Two operands of equal element types and sizes: nothing is broadcast in a loss.
struct loss_rule {
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (in[0].element != in[1].element) return fault::element_types_differ;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        const merged_extents m = equal_shapes(in[0].extents, in[1].extents);
        return m.what == fault::none ? inferred(in[0].element, {}) : inferred(m.what);
    }
};

struct mean_squared_error_rule : named_rule<"mean_squared_error", loss_rule> {};
struct mean_absolute_error_rule : named_rule<"mean_absolute_error", loss_rule> {};

struct huber_rule : named_rule<"huber", loss_rule> {};
struct huber_of_distance_rule : composite_rule<"huber", true> {};
struct log_loss_rule : named_rule<"log_loss", loss_rule> {};

// Integer labels [...] for logits [..., classes].
struct accuracy_rule {
    static constexpr const char* name = "accuracy";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (!is_integer(in[1].element)) return fault::element_type_must_be_integer;
        extents batch = in[0].extents;
        if (batch.rank() < 1) return fault::rank_too_low;
        batch.erase(batch.rank() - 1);
        const merged_extents m = equal_shapes(batch, in[1].extents);
        return m.what == fault::none ? inferred(in[0].element, {}) : inferred(m.what);
    }
};

// Rows that are compared along their last axis.
struct rows_loss_rule {
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[0].extents.rank() < 1) return fault::rank_too_low;
        for (int i = 1; i < in.size(); ++i) {
            if (in[i].element != in[0].element) return fault::element_types_differ;
            if (const fault f = equal_shapes(in[0].extents, in[i].extents).what; f != fault::none) return f;
        }
        return inferred(in[0].element, {});
    }
};
struct hinge_rule : named_rule<"hinge", loss_rule> {};
struct binary_focal_rule : named_rule<"binary_focal", loss_rule> {};
struct kl_divergence_rule : named_rule<"kl_divergence", rows_loss_rule> {};
struct cosine_similarity_rule : named_rule<"cosine_similarity", rows_loss_rule> {};
struct cosine_distance_rule : named_rule<"cosine_distance", rows_loss_rule> {};
struct triplet_rule : named_rule<"triplet", rows_loss_rule> {};

// A formula on operands that a rule allows together.
template <class Rule, class F, class... X> auto checked_loss(F formula, const X&... x) {
    using verdict = verdict_on_operands<Rule, X...>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return formula(as_tensor(x)...);
}

inline constexpr auto mean_of_squares = [](const auto& p, const auto& t) { return mean(squared_difference(p, t)); };
inline constexpr auto mean_of_distances = [](const auto& p, const auto& t) { return mean(abs(p - t)); };

// With m = min(d, delta), d^2 / 2 up to delta and delta (d - delta / 2) from there are m (d - m / 2).
inline constexpr auto huber_of_distance = [](auto d, auto delta) {
    return minimum(d, delta) * (d - half_of_one * minimum(d, delta));
};
struct mean_of_huber {
    double delta;
    template <class P, class T> auto operator()(const P& p, const T& t) const {
        return mean(elementwise_composite<huber_of_distance_rule>(huber_of_distance, abs(p - t), delta));
    }
};
inline constexpr auto mean_of_log_losses = [](const auto& p, const auto& t) {
    return mean(-(xlogy(t, p) + xlog1py(1 - t, -p)));
};
inline constexpr auto mean_of_hinges = [](const auto& p, const auto& t) { return mean(maximum(one - t * p, zero)); };
inline constexpr auto mean_of_divergences = [](const auto& log_q, const auto& p) {
    return mean(sum<-1>(xlogy(p, p) - multiply_no_nan(log_q, p)));
};
// A formula of lengths, whose squares half does not hold from 256 on: 16 bits are computed in float.
template <class F> struct formula_of_lengths {
    F formula;
    template <class X, class... More> auto operator()(const X& x, const More&... more) const {
        using T = typename X::element_type;
        if constexpr (sizeof(T) < sizeof(float))
            return as_tensor(cast<T>(as_tensor(formula(as_tensor(cast<float>(x)), as_tensor(cast<float>(more))...))));
        else return formula(x, more...);
    }
};
template <class F> formula_of_lengths(F) -> formula_of_lengths<F>;
// |a| |b| counts as 1e-8 at least.
inline constexpr auto cosines_of = [](const auto& a, const auto& b) {
    return as_tensor(sum<-1>(a * b) *
                     rsqrt(maximum(sum<-1>(square(a)) * sum<-1>(square(b)), number_of<bits_of(1e-16)>)));
};
inline constexpr auto mean_of_cosine_distances = [](const auto& a, const auto& b) {
    return mean(one - cosines_of(a, b));
};
// So that the root has a gradient where the difference is 0.
inline constexpr auto distances_of = [](const auto& a, const auto& b) {
    return as_tensor(sqrt(sum<-1>(square(a - b + number_of<bits_of(1e-6)>))));
};
struct mean_of_triplets {
    double margin;
    template <class A> auto operator()(const A& anchor, const A& positive, const A& negative) const {
        return mean(maximum(distances_of(anchor, positive) - distances_of(anchor, negative) + margin, zero));
    }
};

template <class X> ill_shaped a_loss_takes_two() {
    static_assert(is_mistake<X>,
                  "tenon::nn: first what the model gives, then what it should be: cross_entropy(logits, labels), "
                  "mean_squared_error(prediction, target); it is the mean of a batch");
    return {};
}

void check_focal(const char* loss, double gamma, double alpha);
void check_margin(double margin);
void check_smoothing(double smoothing);

// (1 - p)^gamma is e^(-gamma softplus(x)) where p = sigmoid(x), whose logarithm is -softplus(-x).
struct mean_of_binary_focals {
    double gamma, alpha;
    template <class X, class Y> auto operator()(const X& x, const Y& y) const {
        const auto of_one = as_tensor(softplus(-x)), of_zero = as_tensor(softplus(x));
        return mean(alpha * y * exp(-gamma * of_zero) * of_one +
                    (1 - alpha) * (1 - y) * exp(-gamma * of_one) * of_zero);
    }
};
[[noreturn]] inline void throw_bad_delta(double delta) {
    throw invalid_argument_error("huber: delta is " + detail::text_of_number(delta) + "; give a number greater than 0");
}

} // namespace detail

namespace nn {

/// mean((prediction - target)^2). Both have the same sizes.
template <OperandOrIllShaped P, OperandOrIllShaped T>
auto mean_squared_error(const P& prediction, const T& target, called_from here = caller()) {
    const making made(here);
    return detail::checked_loss<detail::mean_squared_error_rule>(detail::mean_of_squares, prediction, target);
}

/// mean(|prediction - target|). Both have the same sizes.
template <OperandOrIllShaped P, OperandOrIllShaped T>
auto mean_absolute_error(const P& prediction, const T& target, called_from here = caller()) {
    const making made(here);
    return detail::checked_loss<detail::mean_absolute_error_rule>(detail::mean_of_distances, prediction, target);
}

/// Mean of d^2 / 2 where the distance d = |prediction - target| is at most delta, else of delta (d - delta / 2): what
/// is far off counts linearly (P. Huber, Ann. Math. Stat. 35 (1964)). Throws invalid_argument_error unless delta > 0.
template <OperandOrIllShaped P, OperandOrIllShaped T>
auto huber(const P& prediction, const T& target, double delta = 1, called_from here = caller()) {
    const making made(here);
    if (!(delta > 0)) detail::throw_bad_delta(delta);
    return detail::checked_loss<detail::huber_rule>(detail::mean_of_huber{delta}, prediction, target);
}

struct cross_entropy_options {
    double label_smoothing = 0; ///< s, from 0, less than 1
};

/// Mean of -log(softmax(logits)[label]): logits [..., classes], integer labels [...] in 0 .. classes-1. With label smoothing s: of the target 1 - s
/// is the label's, and s is spread over all classes evenly (C. Szegedy et al., CVPR 2016, 7). Throws invalid_argument_error unless 0 <= s < 1.
template <OperandOrIllShaped L, OperandOrIllShaped Y>
auto cross_entropy(const L& logits, const Y& labels, const cross_entropy_options& o = {}, called_from here = caller()) {
    const making made(here);
    const auto each = apply_op<sparse_softmax_cross_entropy_op, no_attributes{}>(logits, labels);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(each)>, ill_shaped>) return ill_shaped{};
    else {
        detail::check_smoothing(o.label_smoothing);
        const auto plain = mean(each);
        if (o.label_smoothing == 0) return plain;
        const auto x = detail::as_tensor(logits);
        const auto even = mean(logsumexp<-1>(x) - mean<-1>(x));
        return detail::as_tensor((1 - o.label_smoothing) * plain + o.label_smoothing * even);
    }
}

struct focal_options {
    double gamma = 2; ///< how much less what is easy counts; 0: not at all
};
struct binary_focal_options {
    double gamma = 2;
    double alpha = 0.25; ///< the weight of targets 1; of targets 0 it is 1 - alpha
};

/// Mean of (1 - p)^gamma * -log(p), p = softmax(logits)[label]: logits [..., classes], integer labels [...]. What is right already counts
/// less (T. Lin et al., Focal loss for dense object detection, ICCV 2017). Throws invalid_argument_error unless gamma >= 0 is finite.
template <OperandOrIllShaped L, OperandOrIllShaped Y>
auto focal(const L& logits, const Y& labels, const focal_options& o = {}, called_from here = caller()) {
    const making made(here);
    const auto each = apply_op<sparse_softmax_cross_entropy_op, no_attributes{}>(logits, labels);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(each)>, ill_shaped>) return ill_shaped{};
    else {
        detail::check_focal("focal", o.gamma, 0);
        // Of gamma below 1 the power has no gradient at 0.
        constexpr auto least = detail::number_of<detail::bits_of(1e-12)>;
        return mean(pow(maximum(-expm1(-each), least), o.gamma) * each);
    }
}

/// Mean of -alpha y (1 - p)^gamma log(p) - (1 - alpha) (1 - y) p^gamma log(1 - p), p = sigmoid(x), for logits x and targets y in 0 .. 1 of the
/// same sizes. Throws invalid_argument_error unless gamma >= 0 is finite and alpha is in 0 .. 1.
template <OperandOrIllShaped L, OperandOrIllShaped Y>
auto binary_focal(const L& logits, const Y& targets, const binary_focal_options& o = {}, called_from here = caller()) {
    const making made(here);
    detail::check_focal("binary_focal", o.gamma, o.alpha);
    return detail::checked_loss<detail::binary_focal_rule>(detail::mean_of_binary_focals{o.gamma, o.alpha}, logits,
                                                           targets);
}

/// Mean of max(0, 1 - y s) for scores s and targets y, -1 or 1, of the same sizes and type.
template <OperandOrIllShaped P, OperandOrIllShaped T>
auto hinge(const P& scores, const T& targets, called_from here = caller()) {
    const making made(here);
    return detail::checked_loss<detail::hinge_rule>(detail::mean_of_hinges, scores, targets);
}

/// The divergence of q from p (S. Kullback, R. Leibler, Ann. Math. Stat. 22 (1951)), sum over the last axis of p (log(p) - log(q)), as the mean
/// over all rows: log_q are logarithms, as log_softmax gives them, and p probabilities, [..., classes]. Where p is 0 it adds 0.
template <OperandOrIllShaped Q, OperandOrIllShaped P>
auto kl_divergence(const Q& log_q, const P& p, called_from here = caller()) {
    const making made(here);
    return detail::checked_loss<detail::kl_divergence_rule>(detail::mean_of_divergences, log_q, p);
}

/// The cosine of the angle between rows, sum(a b) / (|a| |b|) over the last axis: two of [..., n] -> [...]. |a| |b| counts as 1e-8 at least.
template <OperandOrIllShaped A, OperandOrIllShaped B>
auto cosine_similarity(const A& a, const B& b, called_from here = caller()) {
    const making made(here);
    return detail::checked_loss<detail::cosine_similarity_rule>(detail::formula_of_lengths{detail::cosines_of}, a, b);
}

/// Mean over all rows of 1 - cosine_similarity(a, b): two of [..., n].
template <OperandOrIllShaped A, OperandOrIllShaped B>
auto cosine_distance(const A& a, const B& b, called_from here = caller()) {
    const making made(here);
    return detail::checked_loss<detail::cosine_distance_rule>(
        detail::formula_of_lengths{detail::mean_of_cosine_distances}, a, b);
}

/// Mean over all rows of max(0, |anchor - positive| - |anchor - negative| + margin), Euclidean over the last axis: three of [..., n]
/// (F. Schroff et al., FaceNet, CVPR 2015, with distances that are not squared). To each difference 1e-6 is added, so that there is a gradient
/// at 0. Throws invalid_argument_error unless margin >= 0 is finite.
template <OperandOrIllShaped A, OperandOrIllShaped P, OperandOrIllShaped N>
auto triplet(const A& anchor, const P& positive, const N& negative, double margin = 1, called_from here = caller()) {
    const making made(here);
    detail::check_margin(margin);
    return detail::checked_loss<detail::triplet_rule>(detail::formula_of_lengths{detail::mean_of_triplets{margin}},
                                                      anchor, positive, negative);
}

/// Mean over the batch of ctc_loss (ops/rows/ctc.hpp): logits [batch, time, classes], labels [batch, n], of which those of sequence s are the
/// first lengths[s], and of the logits the first times[s] steps; all of int32 or int64.
template <OperandOrIllShaped X, OperandOrIllShaped L, OperandOrIllShaped T, OperandOrIllShaped N>
auto ctc(const X& logits, const L& labels, const T& times, const N& lengths, const ctc_loss_op::attributes& a = {},
         called_from here = caller()) {
    const making made(here);
    return mean(apply_op<ctc_loss_op, detail::default_attributes<ctc_loss_op>>(a, logits, labels, times, lengths));
}

/// Mean of -(y log(sigmoid(x)) + (1 - y) log(1 - sigmoid(x))) for logits x and targets y in 0 .. 1 of the same sizes.
template <OperandOrIllShaped L, OperandOrIllShaped Y>
auto binary_cross_entropy(const L& logits, const Y& targets, called_from here = caller()) {
    const making made(here);
    return mean(sigmoid_cross_entropy(logits, targets));
}

/// Mean of -(y log(p) + (1 - y) log(1 - p)) for probabilities p and targets y in 0 .. 1 of the same sizes; infinite
/// where what is certain is wrong. Where there are logits, binary_cross_entropy is more exact.
template <OperandOrIllShaped P, OperandOrIllShaped Y>
auto log_loss(const P& probabilities, const Y& targets, called_from here = caller()) {
    const making made(here);
    return detail::checked_loss<detail::log_loss_rule>(detail::mean_of_log_losses, probabilities, targets);
}

/// The class with the largest logit: [..., classes] -> [...].
template <Element Label = std::int32_t, OperandOrIllShaped L>
auto predicted_class(const L& logits, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<L, ill_shaped>) return ill_shaped{};
    else return detail::as_tensor(cast<Label>(argmax<-1>(logits)));
}

} // namespace nn

namespace detail {
inline constexpr auto part_of_equals = [](const auto& logits, const auto& labels) {
    using label = typename std::remove_cvref_t<decltype(labels)>::element_type;
    return mean(cast<float>(nn::predicted_class<label>(logits) == labels));
};
} // namespace detail

namespace nn {

/// The part of predictions that is right, 0 to 1, as a float: logits [..., classes], integer labels [...].
template <OperandOrIllShaped L, OperandOrIllShaped Y>
auto accuracy(const L& logits, const Y& labels, called_from here = caller()) {
    const making made(here);
    return detail::checked_loss<detail::accuracy_rule>(detail::part_of_equals, logits, labels);
}

// Mistakes: calls with less, with more, or with a text.
#define TENON_HINT(NAME, SAID)                                                                                 \
    template <auto..., class X = void> ill_shaped NAME(detail::any_argument = {}, detail::any_argument = {}) { \
        return detail::SAID<X>();                                                                              \
    }                                                                                                          \
    template <auto..., class X = void>                                                                         \
    ill_shaped NAME(detail::any_argument, detail::any_argument, detail::any_argument) {                        \
        return detail::SAID<X>();                                                                              \
    }
TENON_HINT(mean_squared_error, a_loss_takes_two)
TENON_HINT(mean_absolute_error, a_loss_takes_two)
TENON_HINT(cross_entropy, a_loss_takes_two)
TENON_HINT(binary_cross_entropy, a_loss_takes_two)
TENON_HINT(hinge, a_loss_takes_two)
TENON_HINT(kl_divergence, a_loss_takes_two)
TENON_HINT(log_loss, a_loss_takes_two)
TENON_HINT(accuracy, a_loss_takes_two)
#undef TENON_HINT
template <auto..., class X = void> ill_shaped predicted_class() {
    static_assert(detail::is_mistake<X>, "tenon::nn::predicted_class: say of what: predicted_class(logits)");
    return {};
}

/// The same of tensors whose types are known at run time only; a mistake throws invalid_argument_error with the words of
/// the rule.
namespace untyped {
any_tensor mean_squared_error(const any_tensor& prediction, const any_tensor& target, called_from here = caller());
any_tensor mean_absolute_error(const any_tensor& prediction, const any_tensor& target, called_from here = caller());
any_tensor huber(const any_tensor& prediction, const any_tensor& target, double delta = 1, called_from here = caller());
any_tensor cross_entropy(const any_tensor& logits, const any_tensor& labels, const cross_entropy_options& o = {},
                         called_from here = caller());
any_tensor focal(const any_tensor& logits, const any_tensor& labels, const focal_options& o = {},
                 called_from here = caller());
any_tensor binary_focal(const any_tensor& logits, const any_tensor& targets, const binary_focal_options& o = {},
                        called_from here = caller());
any_tensor hinge(const any_tensor& scores, const any_tensor& targets, called_from here = caller());
any_tensor kl_divergence(const any_tensor& log_q, const any_tensor& p, called_from here = caller());
any_tensor cosine_similarity(const any_tensor& a, const any_tensor& b, called_from here = caller());
any_tensor cosine_distance(const any_tensor& a, const any_tensor& b, called_from here = caller());
any_tensor triplet(const any_tensor& anchor, const any_tensor& positive, const any_tensor& negative, double margin = 1,
                   called_from here = caller());
any_tensor ctc(const any_tensor& logits, const any_tensor& labels, const any_tensor& times, const any_tensor& lengths,
               const ctc_loss_op::attributes& a = {}, called_from here = caller());
any_tensor binary_cross_entropy(const any_tensor& logits, const any_tensor& targets, called_from here = caller());
any_tensor log_loss(const any_tensor& probabilities, const any_tensor& targets, called_from here = caller());
any_tensor predicted_class(const any_tensor& logits, element_type label = element_type::int32,
                           called_from here = caller());
any_tensor accuracy(const any_tensor& logits, const any_tensor& labels, called_from here = caller());
} // namespace untyped

} // namespace nn
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/nn/losses.ipp>
#endif
