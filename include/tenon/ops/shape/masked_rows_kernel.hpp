#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/op/kernel.hpp>

/// For the kernels of boolean_mask_gradient, on any device.

namespace tenon::detail {

/// How the parts of a gradient, `chosen` of them, go to the places of its mask.
struct masked_rows {
    explicit masked_rows(const kernel_setup& s) :
        name(s.node.name), chosen(s.inputs[0].extents[0].size), places(s.inputs[1].extents.elements()) {
        const extents& x = s.outputs[0].extents;
        for (int d = s.inputs[1].extents.rank(); d < x.rank(); ++d) part *= x[d].size;
    }
    /// Of a mask in which so many are true.
    void check_chosen(std::int64_t n) const {
        if (n != chosen)
            throw invalid_argument_error(name + ": the mask chooses " + std::to_string(n) + " of " +
                                         std::to_string(places) + ", and the gradient is of " + std::to_string(chosen));
    }

    const std::string name; ///< of the node
    const std::int64_t chosen, places;
    std::int64_t part = 1; ///< elements
};

} // namespace tenon::detail
