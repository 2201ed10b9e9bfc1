#include <net/launch/free_ports.hpp>

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::net {

std::vector<int> free_ports(const std::string& host, int count) {
    const auto fail = [&](const std::string& why) {
        throw unavailable_error("no free port is found on " + host + ": " + why +
                                "; give --port-base, or another --host");
    };
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (const int wrong =
            ::getaddrinfo((bracketed ? host.substr(1, host.size() - 2) : host).c_str(), "0", &hints, &found))
        fail(::gai_strerror(wrong));
    // All are held until the last is known, so that no two are the same.
    std::vector<int> sockets, ports;
    std::string why;
    while (why.empty() && static_cast<int>(ports.size()) < count) {
        sockaddr_storage at{};
        socklen_t length = sizeof at;
        sockets.push_back(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (sockets.back() < 0 || ::bind(sockets.back(), found->ai_addr, found->ai_addrlen) != 0 ||
            ::getsockname(sockets.back(), reinterpret_cast<sockaddr*>(&at), &length) != 0)
            why = std::strerror(errno);
        else
            ports.push_back(ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(at).sin6_port
                                                           : reinterpret_cast<const sockaddr_in&>(at).sin_port));
    }
    for (const int s : sockets)
        if (s >= 0) ::close(s);
    ::freeaddrinfo(found);
    if (!why.empty()) fail(why);
    return ports;
}

} // namespace tenon::net
