#pragma once

#include <tenon/nn/losses.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>

namespace tenon::nn::untyped {

namespace loose = tenon::untyped;

TENON_INLINE any_tensor mean_squared_error(const any_tensor& prediction, const any_tensor& target) {
    detail::check_operands<detail::mean_squared_error_rule>({prediction, target});
    return loose::mean(loose::squared_difference(prediction, target));
}
TENON_INLINE any_tensor mean_absolute_error(const any_tensor& prediction, const any_tensor& target) {
    detail::check_operands<detail::mean_absolute_error_rule>({prediction, target});
    return loose::mean(loose::abs(prediction - target));
}
TENON_INLINE any_tensor huber(const any_tensor& prediction, const any_tensor& target, double delta) {
    if (!(delta > 0)) detail::throw_bad_delta(delta);
    detail::check_operands<detail::huber_rule>({prediction, target});
    const any_tensor distance = loose::abs(prediction - target), least = loose::minimum(distance, delta);
    return loose::mean(least * (distance - 0.5 * least));
}
TENON_INLINE any_tensor cross_entropy(const any_tensor& logits, const any_tensor& labels) {
    return loose::mean(loose::sparse_softmax_cross_entropy(logits, labels));
}
TENON_INLINE any_tensor binary_cross_entropy(const any_tensor& logits, const any_tensor& targets) {
    return loose::mean(loose::sigmoid_cross_entropy(logits, targets));
}
TENON_INLINE any_tensor log_loss(const any_tensor& probabilities, const any_tensor& targets) {
    detail::check_operands<detail::log_loss_rule>({probabilities, targets});
    return loose::mean(-(loose::xlogy(targets, probabilities) + loose::xlog1py(1 - targets, -probabilities)));
}
TENON_INLINE any_tensor predicted_class(const any_tensor& logits, element_type label) {
    return loose::cast(loose::argmax(logits, -1), label);
}
TENON_INLINE any_tensor accuracy(const any_tensor& logits, const any_tensor& labels) {
    detail::check_operands<detail::accuracy_rule>({logits, labels});
    return loose::mean(loose::cast(predicted_class(logits, labels.element()) == labels, element_type::float32));
}

} // namespace tenon::nn::untyped
