#pragma once

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/nn/normalization.hpp>

namespace tenon {

TENON_INLINE nn::batch_norm::batch_norm(batch_norm_options o) : options_(std::move(o)) {
    if (!(options_.momentum >= 0 && options_.momentum < 1))
        throw invalid_argument_error("batch_norm: the momentum is " + detail::text_of_number(options_.momentum) +
                                     "; give a number from 0, less than 1");
}

} // namespace tenon
