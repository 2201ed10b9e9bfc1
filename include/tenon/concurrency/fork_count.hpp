#pragma once

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// How often what runs this was forked, since this was first asked for: whose number was another one has begun its threads in a process
/// above this one, and none of them is here.
int fork_count() noexcept;

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/concurrency/fork_count.ipp>
#endif
