#pragma once

#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/elementwise/formulas.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/softmax.hpp>

/// What is made small, and what is told about a model: scalars, mean over the batch.
///
///     auto loss = tn::nn::cross_entropy(logits, labels);
///     auto part_right = tn::nn::accuracy(logits, labels);

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

struct mean_squared_error_rule : loss_rule {
    static constexpr const char* name = "mean_squared_error";
};
struct mean_absolute_error_rule : loss_rule {
    static constexpr const char* name = "mean_absolute_error";
};

struct huber_rule : loss_rule {
    static constexpr const char* name = "huber";
};
struct huber_of_distance_rule : composite_rule<"huber", true> {};
struct log_loss_rule : loss_rule {
    static constexpr const char* name = "log_loss";
};

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

// A formula on two operands that a rule allows together.
template <class Rule, class F, class A, class B> auto checked_loss(F formula, const A& a, const B& b) {
    using verdict = verdict_on_operands<Rule, A, B>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return formula(a, b);
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
[[noreturn]] inline void throw_bad_delta(double delta) {
    throw invalid_argument_error("huber: delta is " + detail::text_of_number(delta) + "; give a number greater than 0");
}

} // namespace detail

namespace nn {

/// mean((prediction - target)^2). Both have the same sizes.
template <OperandOrIllShaped P, OperandOrIllShaped T> auto mean_squared_error(const P& prediction, const T& target) {
    return detail::checked_loss<detail::mean_squared_error_rule>(detail::mean_of_squares, prediction, target);
}

/// mean(|prediction - target|). Both have the same sizes.
template <OperandOrIllShaped P, OperandOrIllShaped T> auto mean_absolute_error(const P& prediction, const T& target) {
    return detail::checked_loss<detail::mean_absolute_error_rule>(detail::mean_of_distances, prediction, target);
}

/// Mean of d^2 / 2 where the distance d = |prediction - target| is at most delta, else of delta (d - delta / 2): what
/// is far off counts linearly (P. Huber, Ann. Math. Stat. 35 (1964)). Throws invalid_argument_error unless delta > 0.
template <OperandOrIllShaped P, OperandOrIllShaped T>
auto huber(const P& prediction, const T& target, double delta = 1) {
    if (!(delta > 0)) detail::throw_bad_delta(delta);
    return detail::checked_loss<detail::huber_rule>(detail::mean_of_huber{delta}, prediction, target);
}

/// Mean of -log(softmax(logits)[label]): logits [..., classes], integer labels [...] in 0 .. classes-1.
template <OperandOrIllShaped L, OperandOrIllShaped Y> auto cross_entropy(const L& logits, const Y& labels) {
    // Not by way of the function: the complaint would be longer.
    return mean(apply_op<sparse_softmax_cross_entropy_op, no_attributes{}>(logits, labels));
}

/// Mean of -(y log(sigmoid(x)) + (1 - y) log(1 - sigmoid(x))) for logits x and targets y in 0 .. 1 of the same sizes.
template <OperandOrIllShaped L, OperandOrIllShaped Y> auto binary_cross_entropy(const L& logits, const Y& targets) {
    return mean(sigmoid_cross_entropy(logits, targets));
}

/// Mean of -(y log(p) + (1 - y) log(1 - p)) for probabilities p and targets y in 0 .. 1 of the same sizes; infinite
/// where what is certain is wrong. Where there are logits, binary_cross_entropy is more exact.
template <OperandOrIllShaped P, OperandOrIllShaped Y> auto log_loss(const P& probabilities, const Y& targets) {
    return detail::checked_loss<detail::log_loss_rule>(detail::mean_of_log_losses, probabilities, targets);
}

/// The class with the largest logit: [..., classes] -> [...].
template <Element Label = std::int32_t, OperandOrIllShaped L> auto predicted_class(const L& logits) {
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
template <OperandOrIllShaped L, OperandOrIllShaped Y> auto accuracy(const L& logits, const Y& labels) {
    return detail::checked_loss<detail::accuracy_rule>(detail::part_of_equals, logits, labels);
}

/// The same of tensors whose types are known at run time only; a mistake throws invalid_argument_error with the words of
/// the rule.
namespace untyped {
any_tensor mean_squared_error(const any_tensor& prediction, const any_tensor& target);
any_tensor mean_absolute_error(const any_tensor& prediction, const any_tensor& target);
any_tensor huber(const any_tensor& prediction, const any_tensor& target, double delta = 1);
any_tensor cross_entropy(const any_tensor& logits, const any_tensor& labels);
any_tensor binary_cross_entropy(const any_tensor& logits, const any_tensor& targets);
any_tensor log_loss(const any_tensor& probabilities, const any_tensor& targets);
any_tensor predicted_class(const any_tensor& logits, element_type label = element_type::int32);
any_tensor accuracy(const any_tensor& logits, const any_tensor& labels);
} // namespace untyped

} // namespace nn
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/nn/losses.ipp>
#endif
