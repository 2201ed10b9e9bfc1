#pragma once

#include <tenon/graph/tensor.hpp>

namespace tenon {

/// A variable and the gradient of a loss with respect to it: the same element type and sizes.
struct gradient_and_variable {
    any_tensor gradient;
    any_tensor variable;
};

} // namespace tenon
