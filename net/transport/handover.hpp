#pragma once

#include <array>

#include <net/transport/shared_ring.hpp>
#include <net/wire/bytes.hpp>

/// How memory goes from one process to another that it speaks with over a connection: by a socket of this machine, whose name and
/// secret are told over that connection. Who comes to the socket is of the same user, as the system says, and has the secret: so it is
/// who was told, and on this machine. Nothing here blocks: each step is taken when the other side has said, over the connection, that
/// it has taken the one before.

namespace tenon::net {

/// What is told.
struct handover_offer {
    std::array<std::byte, 16>
        name{}; ///< of the socket: "tenon/" and these bytes in hexadecimal, in the abstract namespace
    std::array<std::byte, 32> secret{};
};
bytes write(const handover_offer& o);
/// Throws data_loss_error.
handover_offer read_handover_offer(std::span<const std::byte> from);

/// The side that gives.
class giving_end {
public:
    /// Waits at a socket with a new name. Throws unavailable_error where there can be none.
    giving_end();
    const handover_offer& offer() const noexcept { return offer_; }
    /// Who was told has come: it gets the file. Throws unavailable_error where nobody has, permission_denied_error where only
    /// others have.
    void give(const file_descriptor& file);

private:
    handover_offer offer_;
    file_descriptor listening_;
};

/// The side that takes.
class taking_end {
public:
    /// Goes to the socket and shows the secret. Throws unavailable_error where the socket is not to be found here,
    /// permission_denied_error where it is another user's.
    explicit taking_end(const handover_offer& offer);
    /// The file that has been given. Throws unavailable_error where none has.
    file_descriptor take();

private:
    file_descriptor socket_;
};

} // namespace tenon::net
