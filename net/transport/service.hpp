#pragma once

#include <functional>
#include <memory>
#include <string>

#include <net/transport/transport.hpp>

/// What is seldom done and takes time: names are looked up, sockets connected and accepted, timers called. On a thread of its
/// own, by Asio.

namespace tenon::net {

struct host_and_port {
    std::string host, port;
};
/// "host:port" or "[::1]:port"; the host may be empty. Throws invalid_argument_error where it is none.
host_and_port parse_address(const std::string& address);
/// Whether "host:port" is reached from this machine alone: localhost, [::1] or 127.x.x.x, as it is written.
bool is_loopback_address(const std::string& address);

/// A connected socket that does not block, and what it connects.
struct connected_socket {
    int socket = -1;
    std::string peer;         ///< "127.0.0.1:2222"
    bool is_loopback = false; ///< both ends
    bool is_one_host = false; ///< they have the same address
};

class socket_service {
public:
    socket_service();
    socket_service(socket_service&&) = delete;
    /// Nothing is called any more afterwards, but for what is being called by this thread.
    ~socket_service();

    /// Calls `then` once, on its thread: with a socket, or, where that is -1, with why there is none.
    using connected = std::function<void(connected_socket, const std::string& why)>;
    void connect(const std::string& address, duration limit, connected then);

    /// Calls `each` on its thread: with a socket, or, where that is -1, with why nobody is taken for a while, once until somebody is.
    /// Throws as transport::listen.
    using accepted = std::function<void(connected_socket, const std::string& why)>;
    std::unique_ptr<listener> listen(const std::string& address, accepted each);

    std::uint64_t call_at(time_point at, std::function<void()> what);
    bool cancel(std::uint64_t timer) noexcept;

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace tenon::net
