#pragma once

#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/reduction.hpp>
#include <tenon/ops/softmax.hpp>

/// What is made small, and what is told about a model: scalars, mean over the batch.
///
///     auto loss = tn::nn::cross_entropy(logits, labels);
///     auto part_right = tn::nn::accuracy(logits, labels);

namespace tenon {

namespace detail {

// Two operands of equal element types and sizes: nothing is broadcast in a loss.
template <fixed_string Name> struct loss_rule {
    static constexpr const char* name = Name.text;
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (in[0].element != in[1].element) return fault::element_types_differ;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        const merged_extents m = equal_shapes(in[0].extents, in[1].extents);
        return m.what == fault::none ? inferred(in[0].element, {}) : inferred(m.what);
    }
};

// Integer labels [...] for logits [..., classes].
template <fixed_string Name> struct label_rule {
    static constexpr const char* name = Name.text;
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

template <class Rule, class A, class B> constexpr bool operands_fit() {
    if constexpr (std::is_same_v<A, ill_shaped> || std::is_same_v<B, ill_shaped>) return false;
    else
        return !std::is_same_v<typename op_result<Rule, constant_attributes<no_attributes{}>, 0, void, operand_of_t<A>,
                                                  operand_of_t<B>>::type,
                               ill_shaped>;
}

} // namespace detail

namespace nn {

/// mean((prediction - target)^2). Both have the same sizes.
template <OperandOrIllShaped P, OperandOrIllShaped T> auto mean_squared_error(const P& prediction, const T& target) {
    if constexpr (detail::operands_fit<detail::loss_rule<"mean_squared_error">, P, T>())
        return mean(squared_difference(prediction, target));
    else return ill_shaped{};
}

/// mean(|prediction - target|). Both have the same sizes.
template <OperandOrIllShaped P, OperandOrIllShaped T> auto mean_absolute_error(const P& prediction, const T& target) {
    if constexpr (detail::operands_fit<detail::loss_rule<"mean_absolute_error">, P, T>())
        return mean(abs(prediction - target));
    else return ill_shaped{};
}

/// Mean of -log(softmax(logits)[label]): logits [..., classes], integer labels [...] in 0 .. classes-1.
template <OperandOrIllShaped L, OperandOrIllShaped Y> auto cross_entropy(const L& logits, const Y& labels) {
    return mean(sparse_softmax_cross_entropy(logits, labels));
}

/// Mean of -(y log(sigmoid(x)) + (1 - y) log(1 - sigmoid(x))), computed as softplus(x) - x y, for logits x and
/// targets y in 0 .. 1 of the same sizes.
template <OperandOrIllShaped L, OperandOrIllShaped Y> auto binary_cross_entropy(const L& logits, const Y& targets) {
    if constexpr (detail::operands_fit<detail::loss_rule<"binary_cross_entropy">, L, Y>())
        return mean(sigmoid_cross_entropy(logits, targets));
    else return ill_shaped{};
}

/// The class with the largest logit, of the labels' type: [..., classes] -> [...].
template <Element Label = std::int32_t, OperandOrIllShaped L> auto predicted_class(const L& logits) {
    return detail::as_tensor(cast<Label>(argmax<-1>(logits)));
}

/// The part of predictions that is right, 0 to 1, as a float: logits [..., classes], integer labels [...].
template <OperandOrIllShaped L, OperandOrIllShaped Y> auto accuracy(const L& logits, const Y& labels) {
    if constexpr (detail::operands_fit<detail::label_rule<"accuracy">, L, Y>())
        return mean(cast<float>(predicted_class<typename Y::element_type>(logits) == labels));
    else return ill_shaped{};
}

} // namespace nn
} // namespace tenon
