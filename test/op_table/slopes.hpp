#pragma once

#include <string>
#include <vector>

#include <tenon/graph/tensor.hpp>
#include <tenon/runtime/session/session.hpp>

/// Gradients against differences, for untyped tensors of double.

namespace op_table {

using namespace tenon;

/// What is compared: the sum of the elements of `results`, each times a weight of its own, as a function of `of`.
struct slopes {
    std::vector<any_tensor> gradients; ///< what tenon::gradients gives
    std::vector<any_tensor> weights;   ///< placeholders, one for each result
    std::string defect;                ///< empty where each element agrees with the difference, else the worst one
};

/// All tensors are of the session's graph; `feeds` holds a value for each of `of`, and for what else is needed.
slopes compare_slopes(session& s, std::vector<fed_value>& feeds, const std::vector<any_tensor>& results,
                      const std::vector<any_tensor>& of);

/// A weight: a number that every floating type holds, other for each element.
double weight(std::int64_t i);

} // namespace op_table
