#pragma once

#include <tenon/graph/op.hpp>
#include <tenon/kernel/resources.hpp>

/// What the kernels of variables and of their updates share.

namespace tenon::detail {

/// The memory of a variable's node.
inline std::shared_ptr<variable_resource> resource_of(const node& variable, const kernel_setup& s) {
    return s.resources->variable(variable.container, variable.name, variable.outputs[0]);
}

} // namespace tenon::detail
