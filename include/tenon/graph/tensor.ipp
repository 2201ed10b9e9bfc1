#pragma once

#include <tenon/core/error.hpp>
#include <tenon/graph/tensor.hpp>

namespace tenon::detail {

TENON_INLINE void throw_wrong_type(const any_tensor& t, const tensor_type& asked) {
    throw invalid_argument_error("as: " + t.name() + " is " + to_string(t.type()) + ", not " + to_string(asked));
}

} // namespace tenon::detail
