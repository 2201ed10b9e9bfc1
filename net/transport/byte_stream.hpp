#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <sys/uio.h>

/// A connected socket, or TLS over one. Nothing blocks.

namespace tenon::net {

class byte_stream {
public:
    enum class outcome {
        done,
        blocked, ///< it is tried again when the socket is ready
        ended,   ///< the other side has, in order
        failed,  ///< error() says why
    };
    struct result {
        outcome what = outcome::done;
        std::size_t bytes = 0;
    };

    explicit byte_stream(int socket) noexcept : socket_(socket) {}
    byte_stream(byte_stream&&) = delete;
    /// Closes the socket.
    virtual ~byte_stream();

    int socket() const noexcept { return socket_; }
    /// What comes before bytes may go.
    virtual result handshake() { return {}; }
    /// Fills `first`, then, where it reads more at once, `then`. By one thread at a time.
    virtual result read(std::span<std::byte> first, std::span<std::byte> then) = 0;
    /// Says how many of these bytes it has taken. What it has taken and not written is unflushed: then it is called again, with
    /// nothing where nothing follows. By one thread at a time, also while another reads.
    virtual result write(std::span<const iovec> from) = 0;
    virtual bool unflushed() const noexcept { return false; }
    /// The last read was blocked by what must be written first.
    virtual bool read_waits_for_write() const noexcept { return false; }
    /// A read of less than was asked for has taken all that was there.
    virtual bool short_read_is_all() const noexcept { return false; }
    /// Why the last call failed.
    virtual std::string error() const = 0;

    /// Both directions: what waits for the socket is told.
    void shut_down() noexcept;

private:
    int socket_;
};

/// Takes the socket over.
std::unique_ptr<byte_stream> make_plain_stream(int socket);

} // namespace tenon::net
