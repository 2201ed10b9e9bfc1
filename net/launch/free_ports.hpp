#pragma once

#include <string>
#include <vector>

/// Ports for tasks that must know each other's before they begin.

namespace tenon::net {

/// Ports of this host on which nobody listens, all different. Throws unavailable_error.
std::vector<int> free_ports(const std::string& host, int count);

/// A port that nobody else is given while this lives, and on which this process can listen meanwhile.
class reserved_port {
public:
    /// Of this host's address; empty: of all of this machine's. Port 0: any that is free. Throws unavailable_error.
    reserved_port(const std::string& host, int port);
    reserved_port(reserved_port&&) = delete;
    ~reserved_port();
    int number() const noexcept { return number_; }

private:
    int socket_ = -1, number_ = 0;
};

} // namespace tenon::net
