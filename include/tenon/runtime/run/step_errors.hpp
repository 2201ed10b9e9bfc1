#pragma once

#include <exception>
#include <string>
#include <vector>

#include <tenon/op/step.hpp>

/// How long a step may take, and what it says when it fails.

namespace tenon::runtime {

/// The step's time begins: of its run's limit where that has one, else of its session's; seconds, 0: none.
void set_limit(tenon::step& in, double of_run, double of_session);

/// deadline_exceeded_error: the step did not end within its limit; what it was doing.
[[noreturn]] void exceed_limit(const tenon::step& in, const std::string& what);

/// Whether there was no memory.
bool is_shortage(const std::exception_ptr& what) noexcept;

/// The same error, of the node at this place: "name (op) on device".
[[noreturn]] void rethrow_at(const std::exception_ptr& what, const std::string& place);

/// The same error of a step that had updated these variables, and changed these others that outlive it, which it says.
std::exception_ptr after_updates(const std::exception_ptr& why, const std::vector<std::string>& variables,
                                 const std::vector<std::string>& others = {}) noexcept;

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/step_errors.ipp>
#endif
