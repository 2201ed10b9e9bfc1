#pragma once

#include <functional>
#include <string>

#include <net/link/options.hpp>

/// Who answers at an address: what a process that claims to be a task is held against.

namespace tenon::net {

/// What came of the question.
struct resident {
    std::uint64_t incarnation = 0; ///< 0: nobody has answered, or it is another task
    std::string why;               ///< then
};

/// Dials the address as `self`, shakes hands until it is known which life of job and task answers there, and says goodbye: no link is
/// begun. Calls `then` once, on a thread of the transport, within `limit` but for the time a thread takes to get to it; not where
/// the transport has ended.
void ask_resident(transport& t, const std::string& address, const identity& self, const std::string& job,
                  std::int32_t task, duration limit, std::function<void(resident)> then);

} // namespace tenon::net
