#pragma once

#include <tenon/core/error.hpp>

namespace tenon {

namespace detail {
template <class Coded> class lost_task final : public Coded, public lost_task_error {
public:
    explicit lost_task(const std::string& message) : Coded(message, error_reason::lost_task) {}
    const char* what() const noexcept override { return Coded::what(); }
};
} // namespace detail

TENON_INLINE void throw_error(error_code code, const std::string& message, error_reason reason) {
    if (reason == error_reason::end_of_data) throw end_of_data_error(message);
    if (reason == error_reason::lost_task && code == error_code::aborted)
        throw detail::lost_task<aborted_error>(message);
    if (reason == error_reason::lost_task) throw detail::lost_task<unavailable_error>(message);
    switch (code) {
    case error_code::cancelled: throw cancelled_error(message, reason);
    case error_code::invalid_argument: throw invalid_argument_error(message, reason);
    case error_code::deadline_exceeded: throw deadline_exceeded_error(message, reason);
    case error_code::not_found: throw not_found_error(message, reason);
    case error_code::already_exists: throw already_exists_error(message, reason);
    case error_code::permission_denied: throw permission_denied_error(message, reason);
    case error_code::resource_exhausted: throw resource_exhausted_error(message, reason);
    case error_code::failed_precondition: throw failed_precondition_error(message, reason);
    case error_code::aborted: throw aborted_error(message, reason);
    case error_code::out_of_range: throw out_of_range_error(message, reason);
    case error_code::unimplemented: throw unimplemented_error(message, reason);
    case error_code::internal: throw internal_error(message, reason);
    case error_code::unavailable: throw unavailable_error(message, reason);
    case error_code::data_loss: throw data_loss_error(message, reason);
    case error_code::unknown: break;
    }
    throw error(error_code::unknown, message, reason);
}

TENON_INLINE void throw_error(const error& like, const std::string& message) {
    throw_error(like.code(), message, like.reason());
}

namespace detail {
TENON_INLINE void moved_from(const char* what) {
    throw failed_precondition_error(std::string("the ") + what + " was moved from; use the one that it was moved to");
}
} // namespace detail

} // namespace tenon
