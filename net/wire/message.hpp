#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <net/wire/bytes.hpp>
#include <tenon/core/array/any_array.hpp>

/// What connections carry.

namespace tenon::net {

/// Kinds of messages, by number on the wire; docs/protocol.md has them all.
enum class message_type : std::uint8_t {
    // Of a link, in net/link/.
    hello,
    challenge,
    proof,
    ready,
    acknowledge,
    ping,
    pong,
    cancel,  ///< names a request whose reply nobody waits for any more
    goodbye, ///< and why, as an error
    // Calls, which a reply answers, and notes, which nothing does, in net/wire/calls.hpp.
    call,
    reply,
    note,
    // Of a connection, in net/transport/.
    shared_memory, ///< about the memory that both sides have
    count,
};

/// Numbers and bools take what they take in memory; strings the characters and eight bytes each.
std::size_t bytes_on_wire(const any_array& a) noexcept;

/// One message. Arrays travel beside the body, as they lie in memory.
struct message {
    message_type type{};
    std::uint8_t verb = 0;          ///< of a call or note: which
    std::uint64_t sequence = 0;     ///< among those of its link that arrive once; 0: of none
    std::uint64_t acknowledged = 0; ///< the last such that the sender has received
    std::uint64_t request = 0;      ///< of a call, of the reply to it, of its cancel; of a ping and its pong
    bytes body = {};
    std::vector<any_array> arrays = {};
    /// Why some of its arrays were not taken where it arrived; they are empty. Does not travel.
    std::string refused = {};

    /// Of the arrays, as they travel.
    std::size_t payload_bytes() const noexcept {
        std::size_t sum = 0;
        for (const any_array& a : arrays) sum += bytes_on_wire(a);
        return sum;
    }
    /// Shares the arrays.
    message share() const {
        message m{type, verb, sequence, acknowledged, request, body, {}};
        for (const any_array& a : arrays) m.arrays.push_back(a.share());
        return m;
    }
};

/// The most bytes, of body and payload and 80 for each array, of a message that may overtake larger ones.
inline constexpr std::size_t small_message = std::size_t{64} << 10;
inline bool is_small(const message& m) noexcept {
    return m.body.size() + m.payload_bytes() + 80 * m.arrays.size() <= small_message;
}

/// Limits on what comes from outside, checked before anything is allocated.
struct message_limits {
    std::size_t body_bytes = std::size_t{64} << 20;
    std::size_t payload_bytes = std::size_t{1} << 38; ///< of all messages together that are still arriving
    std::size_t arrays = 65536;
};

} // namespace tenon::net
