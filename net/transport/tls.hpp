#pragma once

#include <memory>
#include <string>

#include <net/transport/byte_stream.hpp>

/// TLS 1.3, and 1.2 where the other side has no other, through OpenSSL.

namespace tenon::net {

/// Files are PEM.
struct tls_options {
    std::string
        certificate_chain; ///< a file: one's own certificate, then those that lead to an authority. Who listens needs one
    std::string private_key; ///< a file, without a password
    /// A file of authorities whose certificates are believed. Given, both sides must show a certificate; empty: the system's are
    /// believed, and who dials needs none.
    std::string authorities;
};

} // namespace tenon::net
