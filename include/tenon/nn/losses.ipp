#pragma once

#include <cmath>

#include <tenon/nn/losses.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>

namespace tenon::detail {

TENON_INLINE void check_focal(const char* loss, double gamma, double alpha) {
    if (!(gamma >= 0 && std::isfinite(gamma)))
        throw invalid_argument_error(std::string(loss) + ": gamma is " + text_of_number(gamma) +
                                     "; give a finite number that is not negative");
    if (!(alpha >= 0 && alpha <= 1))
        throw invalid_argument_error(std::string(loss) + ": alpha is " + text_of_number(alpha) +
                                     "; give a number from 0 to 1");
}
TENON_INLINE void check_margin(double margin) {
    if (!(margin >= 0 && std::isfinite(margin)))
        throw invalid_argument_error("triplet: the margin is " + text_of_number(margin) +
                                     "; give a finite number that is not negative");
}
TENON_INLINE void check_smoothing(double smoothing) {
    if (!(smoothing >= 0 && smoothing < 1))
        throw invalid_argument_error("cross_entropy: the label smoothing is " + text_of_number(smoothing) +
                                     "; give a number from 0, less than 1");
}

// As formula_of_lengths.
TENON_INLINE any_tensor in_float(const any_tensor& x) { return untyped::cast(x, element_type::float32); }

} // namespace tenon::detail

namespace tenon::nn::untyped {

namespace loose = tenon::untyped;

TENON_INLINE any_tensor mean_squared_error(const any_tensor& prediction, const any_tensor& target, called_from here) {
    const making made(here);
    detail::check_operands<detail::mean_squared_error_rule>({prediction, target});
    return loose::mean(loose::squared_difference(prediction, target));
}
TENON_INLINE any_tensor mean_absolute_error(const any_tensor& prediction, const any_tensor& target, called_from here) {
    const making made(here);
    detail::check_operands<detail::mean_absolute_error_rule>({prediction, target});
    return loose::mean(loose::abs(prediction - target));
}
TENON_INLINE any_tensor huber(const any_tensor& prediction, const any_tensor& target, double delta, called_from here) {
    const making made(here);
    if (!(delta > 0)) detail::throw_bad_delta(delta);
    detail::check_operands<detail::huber_rule>({prediction, target});
    const any_tensor distance = loose::abs(prediction - target), least = loose::minimum(distance, delta);
    return loose::mean(least * (distance - 0.5 * least));
}
TENON_INLINE any_tensor cross_entropy(const any_tensor& logits, const any_tensor& labels,
                                      const cross_entropy_options& o, called_from here) {
    const making made(here);
    detail::check_smoothing(o.label_smoothing);
    const any_tensor plain = loose::mean(loose::sparse_softmax_cross_entropy(logits, labels));
    if (o.label_smoothing == 0) return plain;
    const any_tensor even = loose::mean(loose::logsumexp(logits, {-1}) - loose::mean(logits, {-1}));
    return (1 - o.label_smoothing) * plain + o.label_smoothing * even;
}
TENON_INLINE any_tensor focal(const any_tensor& logits, const any_tensor& labels, const focal_options& o,
                              called_from here) {
    const making made(here);
    detail::check_focal("focal", o.gamma, 0);
    const any_tensor each = loose::sparse_softmax_cross_entropy(logits, labels);
    return loose::mean(loose::pow(loose::maximum(-loose::expm1(-each), 1e-12), o.gamma) * each);
}
TENON_INLINE any_tensor binary_focal(const any_tensor& logits, const any_tensor& targets, const binary_focal_options& o,
                                     called_from here) {
    const making made(here);
    detail::check_focal("binary_focal", o.gamma, o.alpha);
    detail::check_operands<detail::binary_focal_rule>({logits, targets});
    const any_tensor of_one = loose::softplus(-logits), of_zero = loose::softplus(logits);
    return loose::mean(o.alpha * targets * loose::exp(-o.gamma * of_zero) * of_one +
                       (1 - o.alpha) * (1 - targets) * loose::exp(-o.gamma * of_one) * of_zero);
}
TENON_INLINE any_tensor hinge(const any_tensor& scores, const any_tensor& targets, called_from here) {
    const making made(here);
    detail::check_operands<detail::hinge_rule>({scores, targets});
    return loose::mean(loose::maximum(1 - targets * scores, 0));
}
TENON_INLINE any_tensor kl_divergence(const any_tensor& log_q, const any_tensor& p, called_from here) {
    const making made(here);
    detail::check_operands<detail::kl_divergence_rule>({log_q, p});
    return loose::mean(loose::sum(loose::xlogy(p, p) - loose::multiply_no_nan(log_q, p), {-1}));
}
TENON_INLINE any_tensor cosine_similarity(const any_tensor& a, const any_tensor& b, called_from here) {
    const making made(here);
    detail::check_operands<detail::cosine_similarity_rule>({a, b});
    if (const element_type t = a.element(); size_of(t) < 4)
        return loose::cast(cosine_similarity(detail::in_float(a), detail::in_float(b)), t);
    const auto along = [](const any_tensor& x) { return loose::sum(x, {-1}); };
    return along(a * b) * loose::rsqrt(loose::maximum(along(loose::square(a)) * along(loose::square(b)), 1e-16));
}
TENON_INLINE any_tensor cosine_distance(const any_tensor& a, const any_tensor& b, called_from here) {
    const making made(here);
    detail::check_operands<detail::cosine_distance_rule>({a, b});
    if (const element_type t = a.element(); size_of(t) < 4)
        return loose::cast(cosine_distance(detail::in_float(a), detail::in_float(b)), t);
    return loose::mean(1 - cosine_similarity(a, b));
}
TENON_INLINE any_tensor triplet(const any_tensor& anchor, const any_tensor& positive, const any_tensor& negative,
                                double margin, called_from here) {
    const making made(here);
    detail::check_margin(margin);
    detail::check_operands<detail::triplet_rule>({anchor, positive, negative});
    if (const element_type t = anchor.element(); size_of(t) < 4)
        return loose::cast(
            triplet(detail::in_float(anchor), detail::in_float(positive), detail::in_float(negative), margin), t);
    const auto to = [&](const any_tensor& x) {
        return loose::sqrt(loose::sum(loose::square(anchor - x + 1e-6), {-1}));
    };
    return loose::mean(loose::maximum(to(positive) - to(negative) + margin, 0));
}
TENON_INLINE any_tensor ctc(const any_tensor& logits, const any_tensor& labels, const any_tensor& times,
                            const any_tensor& lengths, const ctc_loss_op::attributes& a, called_from here) {
    const making made(here);
    return loose::mean(loose::ctc_loss(logits, labels, times, lengths, a));
}
TENON_INLINE any_tensor binary_cross_entropy(const any_tensor& logits, const any_tensor& targets, called_from here) {
    const making made(here);
    return loose::mean(loose::sigmoid_cross_entropy(logits, targets));
}
TENON_INLINE any_tensor log_loss(const any_tensor& probabilities, const any_tensor& targets, called_from here) {
    const making made(here);
    detail::check_operands<detail::log_loss_rule>({probabilities, targets});
    return loose::mean(-(loose::xlogy(targets, probabilities) + loose::xlog1py(1 - targets, -probabilities)));
}
TENON_INLINE any_tensor predicted_class(const any_tensor& logits, element_type label, called_from here) {
    const making made(here);
    return loose::cast(loose::argmax(logits, -1), label);
}
TENON_INLINE any_tensor accuracy(const any_tensor& logits, const any_tensor& labels, called_from here) {
    const making made(here);
    detail::check_operands<detail::accuracy_rule>({logits, labels});
    return loose::mean(loose::cast(predicted_class(logits, labels.element()) == labels, element_type::float32));
}

} // namespace tenon::nn::untyped
