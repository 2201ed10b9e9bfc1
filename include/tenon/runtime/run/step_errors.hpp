#pragma once

#include <exception>
#include <string>

#include <tenon/kernel/step.hpp>

/// What a step says when it fails.

namespace tenon::runtime {

/// deadline_exceeded_error: the step did not end within its limit; what it was doing.
[[noreturn]] void exceed_limit(const tenon::step& in, const std::string& what);

/// The same error, of the node at this place: "name (op) on device".
[[noreturn]] void rethrow_at(const std::exception_ptr& what, const std::string& place);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/step_errors.ipp>
#endif
