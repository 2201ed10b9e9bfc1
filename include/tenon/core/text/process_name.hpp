#pragma once

#include <string>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// "process 12 on host7": this one, in messages that another process shows.
std::string process_name();

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/core/text/process_name.ipp>
#endif
