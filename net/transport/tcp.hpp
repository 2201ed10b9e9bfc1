#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <net/transport/tls.hpp>
#include <net/transport/transport.hpp>

/// Connections over TCP, plain or with TLS.

namespace tenon::net {

struct tcp_options {
    /// Threads that read and write what no caller of work_until does. With more than one, all but one may run what others than
    /// the transport give them (transport::defer).
    int io_threads = 1;
    /// Encrypts all connections; none: plain.
    std::optional<tls_options> tls{};

    /// Accepted connections that may be open; one more is closed at once.
    std::size_t most_connections = 16384;
    /// Of these, those that have not sent a message yet; for one more, the oldest of them is closed.
    std::size_t most_half_open = 1024;
    /// Until then an accepted connection has sent a message, or it is closed.
    duration handshake_time = std::chrono::seconds(10);

    /// A connection whose unsent bytes have been more than this for so long, while fewer than this have gone, is closed: the other
    /// side does not read.
    std::size_t slow_reader_bytes = std::size_t{64} << 20;
    duration slow_reader_time = std::chrono::seconds(60);

    /// Bytes of a large message between which small ones may go: at most 4 MiB.
    std::size_t chunk_bytes = std::size_t{1} << 20;
    /// Sizes of the system's buffers for a connection; 0: the system decides.
    int send_buffer = 0, receive_buffer = 0;

    /// Where both ends are processes of one machine and one user, large payloads go through memory that both have, also where the
    /// rest is encrypted: nobody but these two has it. False: never.
    bool shared_memory = true;
    /// Of that memory, for each direction of a connection in which large payloads go: 64 KiB to 64 MiB.
    std::size_t ring_bytes = std::size_t{2} << 20;
    /// It is given back when so long none has.
    duration ring_idle = std::chrono::seconds(30);

    /// A line for what a person might want to know: who connected and was not taken, what cannot be had, and why. Any thread; none:
    /// nothing is told.
    std::function<void(const std::string& line)> log{};
    /// And for who connected and said nothing, or nothing that is TLS where that is asked for: it may be a probe. Any thread.
    std::function<void(const std::string& line)> log_verbose{};
};

/// Addresses are "host:port"; an IPv6 address stands in brackets, "[::1]:2222". To listen, no host is all addresses of this
/// machine and port 0 is any that is free. Throws invalid_argument_error where the options cannot be.
std::shared_ptr<transport> make_tcp_transport(tcp_options options = {});

} // namespace tenon::net
