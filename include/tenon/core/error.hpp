#pragma once

#include <new>
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

/// What a handler may act on, where the code alone means several things. It travels with an error from task to task.
enum class error_reason {
    none,
    end_of_data, ///< a queue, reader, iterator or count of epochs has no more elements, and will have none
    lost_task,   ///< a task of a cluster cannot be reached any more, or is not the one that it was
    other_shard, ///< what a data set is to go on from was saved of another shard of it
};
inline constexpr int error_reasons = 4;

/// Base of all of Tenon's exceptions: what() says what was wrong, where, and what to do.
class error : public std::runtime_error {
public:
    error(error_code code, const std::string& message, error_reason reason = error_reason::none) :
        std::runtime_error(message), code_(code), reason_(reason) {}
    error_code code() const noexcept { return code_; }
    error_reason reason() const noexcept { return reason_; }

private:
    error_code code_;
    error_reason reason_;
};

/// One exception type per canonical code, so that a caller catches what it can handle.
template <error_code Code> class coded_error : public error {
public:
    explicit coded_error(const std::string& message, error_reason reason = error_reason::none) :
        error(Code, message, reason) {}
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

/// The end of what there was to read: training that meets it has ended well. Any other out_of_range_error is a mistake.
class end_of_data_error : public out_of_range_error {
public:
    explicit end_of_data_error(const std::string& message) : out_of_range_error(message, error_reason::end_of_data) {}
};

/// Beside an unavailable_error (a task is not reached) or an aborted_error (it was restarted, and has forgotten): a task is lost,
/// and with it what it held. A new session may go on from a checkpoint. Where all tasks are in this process it is never thrown.
class lost_task_error {
public:
    virtual const char* what() const noexcept = 0;

protected:
    lost_task_error() = default;
    lost_task_error(const lost_task_error&) = default;
    lost_task_error& operator=(const lost_task_error&) = default;
    ~lost_task_error() = default;
};

/// Throws the type that a code and a reason have: for an error that came from elsewhere.
[[noreturn]] void throw_error(error_code code, const std::string& message, error_reason reason = error_reason::none);
/// The same error in other words.
[[noreturn]] void throw_error(const error& like, const std::string& message);

namespace detail {
/// What `f` gives; its errors begin with `who`: "read_npy: 'a.npy' ..".
template <class F> decltype(auto) said_by(const std::string& who, F&& f) {
    try {
        return f();
    } catch (const error& e) {
        throw_error(e, who + ": " + e.what());
    }
}

/// The same of what a program has written: who() says whose it is, and other exceptions become internal errors in their words.
template <class W, class F> decltype(auto) said_of_program(const W& who, F&& f) {
    try {
        return f();
    } catch (const error& e) {
        throw_error(e, who() + ": " + e.what());
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& e) {
        throw internal_error(who() + ": " + e.what());
    }
}

/// For a handle, "session", that holds nothing any more.
[[noreturn]] void moved_from(const char* what);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/error.ipp>
#endif
