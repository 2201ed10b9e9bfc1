#pragma once

#include <tenon/core/error.hpp>

namespace tenon {

TENON_INLINE void throw_error(error_code code, const std::string& message) {
    switch (code) {
    case error_code::cancelled: throw cancelled_error(message);
    case error_code::invalid_argument: throw invalid_argument_error(message);
    case error_code::deadline_exceeded: throw deadline_exceeded_error(message);
    case error_code::not_found: throw not_found_error(message);
    case error_code::already_exists: throw already_exists_error(message);
    case error_code::permission_denied: throw permission_denied_error(message);
    case error_code::resource_exhausted: throw resource_exhausted_error(message);
    case error_code::failed_precondition: throw failed_precondition_error(message);
    case error_code::aborted: throw aborted_error(message);
    case error_code::out_of_range: throw out_of_range_error(message);
    case error_code::unimplemented: throw unimplemented_error(message);
    case error_code::internal: throw internal_error(message);
    case error_code::unavailable: throw unavailable_error(message);
    case error_code::data_loss: throw data_loss_error(message);
    case error_code::unknown: break;
    }
    throw error(error_code::unknown, message);
}

namespace detail {
TENON_INLINE void moved_from(const char* what) {
    throw failed_precondition_error(std::string("the ") + what + " was moved from; use the one that it was moved to");
}
} // namespace detail

} // namespace tenon
