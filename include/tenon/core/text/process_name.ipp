#pragma once

#include <unistd.h>

#include <tenon/core/text/process_name.hpp>

namespace tenon::detail {

TENON_INLINE std::string process_name() {
    char host[256] = "";
    (void)::gethostname(host, sizeof host - 1);
    return "process " + std::to_string(::getpid()) + " on " + host;
}

} // namespace tenon::detail
