#pragma once

#include <algorithm>

#include <tenon/nn/recurrent/recurrent.hpp>

namespace tenon::detail {

TENON_INLINE std::vector<any_tensor> projected_steps(const any_tensor& x, const any_tensor& kernel,
                                                     const any_tensor& bias) {
    // Steps come first, so that each is in one piece.
    const any_tensor all = untyped::add(untyped::matmul(untyped::transpose(x, {1, 0, 2}), kernel), bias);
    return untyped::unstack(all, static_cast<int>(x.extents()[1].size), 0);
}

TENON_INLINE any_tensor joined_steps(std::vector<any_tensor> steps, bool reversed) {
    if (reversed) std::reverse(steps.begin(), steps.end());
    return untyped::stack(steps, 1);
}

} // namespace tenon::detail
