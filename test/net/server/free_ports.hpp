#pragma once

#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/// Addresses of this machine that nobody listens on, for clusters whose tasks must know each other's before they begin.
inline std::vector<std::string> free_addresses(int count) {
    std::vector<int> sockets;
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
        const int s = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        (void)::bind(s, reinterpret_cast<sockaddr*>(&at), size);
        (void)::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size);
        all.push_back("127.0.0.1:" + std::to_string(ntohs(at.sin_port)));
        sockets.push_back(s); // open until all are chosen: so they are different
    }
    for (const int s : sockets) ::close(s);
    return all;
}
