#pragma once

#include <algorithm>

#include <tenon/nn/recurrent/recurrent.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/shape/indexing.hpp>

namespace tenon::detail {

TENON_INLINE any_tensor projected_steps(const any_tensor& x, const any_tensor& kernel, const any_tensor& bias) {
    // Steps come first, so that each is in one piece.
    return untyped::add(untyped::matmul(untyped::transpose(x, {1, 0, 2}), kernel), bias);
}

TENON_INLINE any_tensor zero_state(const any_tensor& x, const any_tensor& kernel, std::int64_t hidden) {
    // Of what zeros are like only the sizes are asked for.
    const any_tensor columns = untyped::slice(kernel, {range{}, range{0, hidden}});
    return untyped::zeros_like(untyped::matmul(untyped::sum(x, {1}), columns));
}

TENON_INLINE any_tensor run_steps(const any_tensor& projected, bool reversed, std::vector<any_tensor>& state,
                                  recurrent_step step) {
    std::vector<any_tensor> steps = untyped::unstack(projected, static_cast<int>(projected.extents()[0].size), 0);
    if (reversed) std::reverse(steps.begin(), steps.end());
    for (any_tensor& s : steps) s = step(s, state);
    if (reversed) std::reverse(steps.begin(), steps.end());
    return untyped::stack(steps, 1);
}

TENON_INLINE any_tensor scan_steps(const any_tensor& projected, bool reversed, std::vector<any_tensor>& state,
                                   recurrent_step step) {
    const std::vector<any_tensor> made = untyped::scan(
        [&](std::vector<any_tensor> carried, const std::vector<any_tensor>& slices) {
            const any_tensor result = step(slices[0], carried);
            return carried_and_given{std::move(carried), {result}};
        },
        state, {projected}, {.reversed = reversed});
    state.assign(made.begin(), made.end() - 1);
    return untyped::transpose(made.back(), {1, 0, 2});
}

} // namespace tenon::detail
