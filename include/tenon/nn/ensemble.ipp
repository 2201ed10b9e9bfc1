#pragma once

#include <string>

#include <tenon/core/error.hpp>
#include <tenon/nn/ensemble.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexing.hpp>

namespace tenon::detail {

TENON_INLINE std::vector<any_tensor> checked_members(const std::vector<any_tensor>& all, bool are_logits) {
    if (all.empty()) throw invalid_argument_error("ensemble: it has no members; give at least one");
    for (const any_tensor& m : all) check_operands<ensemble_rule>({all.front(), m});
    if (!are_logits) return all;
    std::vector<any_tensor> probabilities;
    for (const any_tensor& m : all) probabilities.push_back(untyped::softmax(m));
    return probabilities;
}

TENON_INLINE any_tensor mean_of_members(const std::vector<any_tensor>& probabilities) {
    return untyped::add_n(probabilities) * (1.0 / static_cast<double>(probabilities.size()));
}

// A vote counts 1, the mean of probabilities less than that: it decides between those of as many votes.
TENON_INLINE any_tensor vote_of_members(const std::vector<any_tensor>& probabilities, const any_tensor& mean,
                                        element_type label) {
    const extent classes = mean.extents()[mean.extents().rank() - 1];
    if (!classes.is_number())
        throw invalid_argument_error("ensemble: a vote wants to know how many classes there are: " +
                                     to_string(mean.type()));
    std::vector<any_tensor> votes;
    for (const any_tensor& p : probabilities)
        votes.push_back(untyped::one_hot(untyped::argmax(p, -1), classes.size, element_type::float32));
    return nn::untyped::predicted_class(untyped::add_n(votes) + untyped::cast(mean, element_type::float32) * 0.5,
                                        label);
}

TENON_INLINE any_tensor part_of_right(const any_tensor& predicted, const any_tensor& labels) {
    return untyped::mean(untyped::cast(predicted == labels, element_type::float32));
}
TENON_INLINE any_tensor parts_of_right(const std::vector<any_tensor>& probabilities, const any_tensor& labels) {
    std::vector<any_tensor> each;
    for (const any_tensor& p : probabilities)
        each.push_back(part_of_right(nn::untyped::predicted_class(p, labels.element()), labels));
    return untyped::stack(each, 0);
}

} // namespace tenon::detail
