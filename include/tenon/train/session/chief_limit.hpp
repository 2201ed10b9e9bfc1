#pragma once

#include <string>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// How long the first session of this process waits for a chief where nobody has been one: set by what joins a run.
struct chief_limit {
    double seconds = 0; ///< 0: as long as the session may take to open
    std::string who;    ///< "/job:worker/task:0"
};
void set_chief_limit(chief_limit l);
chief_limit get_chief_limit();

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/train/session/chief_limit.ipp>
#endif
