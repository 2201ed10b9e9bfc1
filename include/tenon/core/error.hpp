#pragma once

#include <stdexcept>
#include <string>

#include <tenon/core/config.hpp>

namespace tenon {

/// The canonical error codes. Every exception Tenon throws carries one.
enum class error_code {
    cancelled,
    unknown,
    invalid_argument,
    deadline_exceeded,
    not_found,
    already_exists,
    permission_denied,
    resource_exhausted,
    failed_precondition,
    aborted,
    out_of_range,
    unimplemented,
    internal,
    unavailable,
    data_loss,
};

constexpr const char* name_of(error_code code) noexcept {
    switch (code) {
    case error_code::cancelled: return "cancelled";
    case error_code::unknown: return "unknown";
    case error_code::invalid_argument: return "invalid_argument";
    case error_code::deadline_exceeded: return "deadline_exceeded";
    case error_code::not_found: return "not_found";
    case error_code::already_exists: return "already_exists";
    case error_code::permission_denied: return "permission_denied";
    case error_code::resource_exhausted: return "resource_exhausted";
    case error_code::failed_precondition: return "failed_precondition";
    case error_code::aborted: return "aborted";
    case error_code::out_of_range: return "out_of_range";
    case error_code::unimplemented: return "unimplemented";
    case error_code::internal: return "internal";
    case error_code::unavailable: return "unavailable";
    case error_code::data_loss: return "data_loss";
    }
    return "unknown";
}

/// Base of all of Tenon's exceptions: what() says what was wrong, where, and what to do.
class error : public std::runtime_error {
public:
    error(error_code code, const std::string& message) : std::runtime_error(message), code_(code) {}
    error_code code() const noexcept { return code_; }

private:
    error_code code_;
};

/// One exception type per canonical code, so that a caller catches what it can handle.
template <error_code Code> class coded_error : public error {
public:
    explicit coded_error(const std::string& message) : error(Code, message) {}
};

using cancelled_error = coded_error<error_code::cancelled>;
using invalid_argument_error = coded_error<error_code::invalid_argument>;
using deadline_exceeded_error = coded_error<error_code::deadline_exceeded>;
using not_found_error = coded_error<error_code::not_found>;
using already_exists_error = coded_error<error_code::already_exists>;
using permission_denied_error = coded_error<error_code::permission_denied>;
using resource_exhausted_error = coded_error<error_code::resource_exhausted>;
using failed_precondition_error = coded_error<error_code::failed_precondition>;
using aborted_error = coded_error<error_code::aborted>;
using out_of_range_error = coded_error<error_code::out_of_range>;
using unimplemented_error = coded_error<error_code::unimplemented>;
using internal_error = coded_error<error_code::internal>;
using unavailable_error = coded_error<error_code::unavailable>;
using data_loss_error = coded_error<error_code::data_loss>;

/// Throws the type that a code has: for an error whose code came from elsewhere, or which is told on with more words.
[[noreturn]] void throw_error(error_code code, const std::string& message);

namespace detail {
/// For a handle, "session", that holds nothing any more.
[[noreturn]] void moved_from(const char* what);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/error.ipp>
#endif
