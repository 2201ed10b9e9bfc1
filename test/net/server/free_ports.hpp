#pragma once

#include <string>
#include <vector>

#include <net/launch/free_ports.hpp>

/// Addresses of this machine that nobody listens on, for clusters whose tasks must know each other's before they begin.
inline std::vector<std::string> free_addresses(int count) {
    std::vector<std::string> all;
    for (const int port : tenon::net::free_ports("127.0.0.1", count))
        all.push_back("127.0.0.1:" + std::to_string(port));
    return all;
}
