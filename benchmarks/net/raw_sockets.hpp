#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/// Blocking sockets, beside which connections are measured.

namespace raw {

inline void require(bool done, const char* what) {
    if (done) return;
    std::perror(what);
    std::exit(1);
}

/// The two ends of a connection over loopback TCP.
struct connected {
    connected() {
        const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        require(::bind(listening, reinterpret_cast<sockaddr*>(&at), size) == 0 && ::listen(listening, 1) == 0,
                "listen");
        (void)::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size);
        here = ::socket(AF_INET, SOCK_STREAM, 0);
        require(::connect(here, reinterpret_cast<sockaddr*>(&at), size) == 0, "connect");
        there = ::accept(listening, nullptr, nullptr);
        ::close(listening);
        const int on = 1;
        for (const int s : {here, there}) (void)::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    connected(connected&&) = delete;
    ~connected() {
        ::close(here);
        ::close(there);
    }
    int here = -1, there = -1;
};

/// False where the other end has been shut.
inline bool read_all(int from, void* to, std::size_t bytes) {
    for (char* at = static_cast<char*>(to); bytes > 0;) {
        const ssize_t n = ::read(from, at, bytes);
        if (n <= 0) return false;
        at += n;
        bytes -= static_cast<std::size_t>(n);
    }
    return true;
}

} // namespace raw
