#pragma once

#include <cstdint>
#include <string>

#include <net/transport/transport.hpp>

/// What both ends of a link are told: who they are, how long they wait, how much they take.

namespace tenon::net {

inline constexpr time_point never = time_point::max();

/// Who a process is.
struct identity {
    std::string job; ///< empty: a client, which is no task of its cluster
    std::int32_t task = 0;
    std::uint64_t incarnation = 0; ///< of this life of the process: transport::random_number(); 0 is none
    std::uint64_t cluster = 0;     ///< a hash of the cluster's description; 0: not known, which fits any
    std::string token;             ///< a secret that all processes of a cluster share; empty: none is asked for
    bool insecure = false;         ///< also over connections that others could read or change
};

/// "/job:ps/task:0", or "a client".
std::string name_of(const std::string& job, std::int32_t task);
/// "6 s", "1.5 s", "200 ms": for messages.
std::string in_words(duration d);

/// How long a link waits, and what it keeps.
struct link_options {
    duration heartbeat = std::chrono::seconds(2); ///< so often, at least, the dialing side is heard and answered
    duration lease = std::chrono::seconds(6);     ///< without contact for so long a link is dead
    duration handshake = std::chrono::seconds(5); ///< a dial, or a handshake, that takes longer has failed
    duration redial_first = std::chrono::milliseconds(20); ///< between dials: doubled each time, up to
    duration redial_most = std::chrono::milliseconds(500); ///< this, and a little random
    // What is received is acknowledged by whatever is sent next; by a message of its own when that is not soon:
    duration acknowledge_within = std::chrono::milliseconds(200);
    std::uint64_t acknowledge_messages = 64;
    std::size_t acknowledge_bytes = std::size_t{1} << 20;
    /// Messages that have overtaken one that is not there yet are held; more than so many, or a large one, end the connection.
    std::size_t early_messages = 4096;
};

/// What one end takes from the other; told in the handshake, kept by the sender and checked by the receiver.
struct link_limits {
    std::uint64_t body_bytes = std::uint64_t{64} << 20;   ///< of one message
    std::uint64_t payload_bytes = std::uint64_t{1} << 38; ///< of one message: all its arrays
    std::uint64_t arrays = 65536;                         ///< of one message
    // Of one turn (call_turn):
    std::uint64_t calls = 4096;                   ///< in flight: sent and not replied to, but for those that may wait
    std::uint64_t bytes = std::uint64_t{4} << 30; ///< of the calls in flight; one call alone may have more
};

/// Bytes of messages that went over the connections of a link, or of several: what was sent again counts again.
struct traffic {
    std::uint64_t sent = 0, received = 0;
    traffic& operator+=(const traffic& other) noexcept {
        sent += other.sent;
        received += other.received;
        return *this;
    }
};

/// What of a link is one's own. Calls and notes of one turn keep their order, and limits are each turn's by itself, so that what
/// one has begun stands before nobody else's.
struct call_turn {
    std::uint64_t of = 1; ///< 0: control, which goes ahead of all data
    bool may_wait =
        false; ///< it is answered when others have done something, which may take for ever: it is no call of link_limits::calls
};
/// nullptr: all are of turn 1.
using turn_function = call_turn (*)(std::uint8_t verb, const bytes& body);

} // namespace tenon::net
