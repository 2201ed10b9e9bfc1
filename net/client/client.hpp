#pragma once

#include <functional>
#include <string>

#include <net/rpc/peer.hpp>
#include <net/transport/tcp.hpp>
#include <tenon/net/server.hpp>

/// How this process calls servers: with the transport, the token and the certificates that its client_options say.

namespace tenon::net {

/// A server, called by a client.
struct dialed_server {
    transport* over = nullptr; ///< lives for ever
    peer_options to = {};
};
dialed_server dial_as_client(const std::string& address);
/// What this process's sessions show from now on where nothing else says which token.
void set_token_of_run(std::string token);

tcp_options tcp_options_of(const tls_files& files, bool shared_memory, std::function<void(const std::string&)> log = {},
                           std::function<void(const std::string&)> log_verbose = {});
/// invalid_argument_error where these times make no sense; `whose` names the options.
link_options link_options_of(const char* whose, double heartbeat, double lease);

} // namespace tenon::net
