#pragma once

#include <string>

#include <tenon/net/server.hpp>

/// How a process shows who it is, where its program does not say: by variables, which servers and clients read alike.

namespace tenon::net {

struct credentials {
    std::string token;
    tls_files tls;
    bool insecure = false;
};

/// What is not given is taken from TENON_TOKEN; TENON_CERTIFICATE, TENON_KEY and TENON_AUTHORITIES, where no file is given; and
/// TENON_INSECURE. Throws invalid_argument_error that names a variable whose value makes no sense.
credentials completed(credentials given);

} // namespace tenon::net
