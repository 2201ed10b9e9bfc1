#include <net/http/place.hpp>

#include <algorithm>

#include <net/transport/service.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

std::string http_address(const http_options& o) {
    const std::string said = o.said_by + "=\"" + o.where + "\": ";
    const bool is_port = std::all_of(o.where.begin(), o.where.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::string address = is_port ? "127.0.0.1:" + o.where : o.where;
    try {
        (void)parse_address(address);
    } catch (const invalid_argument_error&) {
        throw invalid_argument_error(said +
                                     "that is no place to serve HTTP at: write a port from 0 to 65535, or host:port");
    }
    if (is_loopback_address(address)) return address;
    const bool is_private = !o.tls.certificate_chain.empty();
    if (!o.token.empty() && (is_private || o.insecure)) return address;
    throw permission_denied_error(said + "it may be reached from other machines, and " +
                                  (o.token.empty() ? "nobody has to prove who it is; give the server a token "
                                                     "(server_options::token; tenon serve --token, TENON_TOKEN)"
                                                   : "it is not encrypted; give the server a certificate "
                                                     "and a key (server_options::tls; tenon serve "
                                                     "--certificate, --key), or say that it may be insecure "
                                                     "(server_options::insecure; tenon serve --insecure)") +
                                  ", or give a port alone, which only this machine reaches");
}

bool is_own_name(std::string host) {
    if (!host.empty() && host.front() == '[') return true;
    host = host.substr(0, host.rfind(':'));
    return host == "localhost" || (!host.empty() && host.find_first_not_of("0123456789.") == std::string::npos);
}

} // namespace tenon::net
