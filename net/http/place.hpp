#pragma once

#include <string>

#include <net/transport/tls.hpp>

/// Where a server may be asked by HTTP.

namespace tenon::net {

struct http_options {
    std::string where = {};                       ///< "port", which is 127.0.0.1:port, or "host:port"
    std::string said_by = "server_options::http"; ///< for messages
    std::string token = {};                       ///< what whoever asks must show; empty: nothing
    tls_options tls = {}; ///< a certificate and a key: HTTPS, for which clients need no certificate
    bool insecure = false;
};

/// "host:port". invalid_argument_error where that is no place; permission_denied_error where other machines would reach it without a
/// token, or by plain connections that nobody asked for by name.
std::string http_address(const http_options& o);

/// Whether a request's Host is an address or localhost. A name that somebody else has made lead here is neither: so a page from elsewhere
/// that a browser here has open reads nothing.
bool is_own_name(std::string host);

} // namespace tenon::net
