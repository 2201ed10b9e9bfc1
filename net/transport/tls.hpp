#pragma once

#include <memory>
#include <string>

#include <net/transport/byte_stream.hpp>

/// TLS 1.3, or 1.2 where the other side has nothing later, through OpenSSL.

namespace tenon::net {

/// Files are PEM.
struct tls_options {
    /// One's own certificate, then those that lead from it to an authority. Who listens needs one.
    std::string certificate_chain{};
    /// The key of that certificate, without a password.
    std::string private_key{};
    /// Certificates of the authorities that are believed. Where they are given, both sides must show a certificate of theirs;
    /// empty: those that the system believes, and who dials needs none.
    std::string authorities{};
};

class tls_context {
public:
    virtual ~tls_context() = default;
    /// For who dials `host`, a name or a number; what the other side shows must be for it. They take the socket over, which is
    /// connected to `peer`.
    virtual std::unique_ptr<byte_stream> dialed(int socket, const std::string& host, const std::string& peer) = 0;
    virtual std::unique_ptr<byte_stream> accepted(int socket, const std::string& peer) = 0;
    /// There is a certificate to show.
    virtual bool can_listen() const noexcept = 0;
};

/// Throws invalid_argument_error, naming the file, where a file cannot be used.
std::shared_ptr<tls_context> make_tls_context(const tls_options& options);

} // namespace tenon::net
