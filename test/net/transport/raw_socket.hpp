#pragma once

#include <span>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests.hpp"

namespace net_test {

/// A socket that speaks no protocol but what the test writes; blocking.
class raw_socket {
public:
    explicit raw_socket(const std::string& address, int receive_buffer = 0) :
        socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        if (receive_buffer) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
        sockaddr_in own{};
        socklen_t size = sizeof own;
        REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size) == 0);
        port_ = ntohs(own.sin_port);
    }
    raw_socket(raw_socket&& other) noexcept : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}
    ~raw_socket() { end(); }
    void end() {
        if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    }
    void write(std::span<const std::byte> all) {
        while (!all.empty()) {
            const ssize_t n = ::send(socket_, all.data(), all.size(), MSG_NOSIGNAL);
            REQUIRE(n > 0);
            all = all.subspan(static_cast<std::size_t>(n));
        }
    }
    /// False where the other side has ended.
    bool try_write(std::span<const std::byte> all) {
        return ::send(socket_, all.data(), all.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(all.size());
    }
    /// Its own, which the other side sees.
    int port() const { return port_; }
    /// 0: the other side has ended.
    std::size_t read(std::span<std::byte> to) {
        const ssize_t n = ::recv(socket_, to.data(), to.size(), 0);
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }

private:
    int socket_;
    int port_ = 0;
};

} // namespace net_test
