#include <net/launch/free_ports.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::net {

reserved_port::reserved_port(const std::string& host, int port) {
    const auto fail = [&](const std::string& why) {
        throw unavailable_error(
            (port == 0 ? "no free port is found" : "port " + std::to_string(port) + " cannot be had") + " on " +
            (host.empty() ? "this machine" : host) + ": " + why);
    };
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* list = nullptr;
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    const std::string name = bracketed ? host.substr(1, host.size() - 2) : host;
    if (const int wrong =
            ::getaddrinfo(name.empty() ? nullptr : name.c_str(), std::to_string(port).c_str(), &hints, &list))
        fail(::gai_strerror(wrong));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, ::freeaddrinfo);
    std::vector<const addrinfo*> all;
    for (const addrinfo* at = list; at; at = at->ai_next) all.push_back(at);
    // All of a machine's addresses are [::], which takes version 4, too.
    if (name.empty())
        std::stable_partition(all.begin(), all.end(), [](const addrinfo* at) { return at->ai_family == AF_INET6; });
    std::string why = "it has no address here";
    for (const addrinfo* at : all) {
        socket_ = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int on = 1, off = 0;
        // Who listens here says so, too; that it is bound keeps the system from giving it to others.
        if (socket_ >= 0) ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (socket_ >= 0 && at->ai_family == AF_INET6)
            ::setsockopt(socket_, IPPROTO_IPV6, IPV6_V6ONLY, name.empty() ? &off : &on, sizeof on);
        sockaddr_storage bound{};
        socklen_t length = sizeof bound;
        if (socket_ >= 0 && ::bind(socket_, at->ai_addr, at->ai_addrlen) == 0 &&
            ::getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length) == 0) {
            number_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                                        : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
            return;
        }
        why = std::strerror(errno);
        if (socket_ >= 0) ::close(socket_);
    }
    fail(why);
}

reserved_port::~reserved_port() { ::close(socket_); }

std::vector<int> free_ports(const std::string& host, int count) {
    // All are held until the last is known, so that no two are the same.
    std::vector<std::unique_ptr<reserved_port>> held;
    std::vector<int> ports;
    try {
        while (static_cast<int>(ports.size()) < count) {
            held.push_back(std::make_unique<reserved_port>(host, 0));
            ports.push_back(held.back()->number());
        }
    } catch (const unavailable_error& e) {
        throw unavailable_error(std::string(e.what()) + "; give --port-base, or another --host");
    }
    return ports;
}

} // namespace tenon::net
