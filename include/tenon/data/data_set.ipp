#pragma once

#include <tenon/core/error.hpp>
#include <tenon/data/data_set.hpp>

namespace tenon::detail {

TENON_INLINE void check_components(const std::vector<tensor_type>& given, const std::vector<tensor_type>& asked) {
    if (given != asked)
        throw invalid_argument_error("data_set: its elements are of " + to_string(given) + ", not of " +
                                     to_string(asked));
}

} // namespace tenon::detail
