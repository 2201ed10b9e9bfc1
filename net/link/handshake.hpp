#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <net/link/delays.hpp>
#include <net/link/options.hpp>
#include <net/wire/bytes.hpp>
#include <tenon/core/error.hpp>

/// What a connection carries before it belongs to a link, and the bodies of a link's own messages. The dialing side says hello; the
/// listening side answers with a challenge, or with goodbye and why not; the dialing side proves that it has the token, and the
/// listening side, with ready, that it has it too. Bodies are read as all bytes from outside are: what they promise is checked
/// first, what is no body is a data_loss_error. A body is its members, one after another (net/wire/fields.hpp).

namespace tenon::net {

inline constexpr std::uint16_t oldest_link_version = 5;
inline constexpr std::uint16_t newest_link_version = 5;
/// The most bytes of a body before ready.
inline constexpr std::size_t most_handshake_bytes = 4096;

using nonce = std::array<std::byte, 32>;
using proof_bytes = std::array<std::byte, 32>;

struct hello {
    std::uint16_t oldest = oldest_link_version, newest = newest_link_version;
    std::uint64_t cluster = 0;
    std::string job = {}; ///< of who dials
    std::int32_t task = 0;
    std::uint64_t incarnation = 0;
    std::string expected_job = {}; ///< empty: whoever it is
    std::int32_t expected_task = 0;
    std::uint64_t expected_incarnation = 0; ///< 0: any
    std::uint64_t stream = 0;               ///< which of the dialing process's peers
    std::uint64_t link = 0;                 ///< of the stream's links: the latest has the largest number
    std::uint64_t attempt = 0;              ///< of the link's connections: likewise
    bool established = false;               ///< it has been ready before
    std::uint64_t received = 0;
    bool has_token = false;
    link_limits limits = {};
    nonce random{};
};

struct challenge {
    std::uint16_t version = newest_link_version;
    std::string job = {}; ///< of who listens
    std::int32_t task = 0;
    std::uint64_t incarnation = 0;
    bool has_token = false;
    nonce random{};
};

struct proof {
    proof_bytes mac{}; ///< zeros where neither has a token
};

struct ready {
    std::uint64_t received = 0;
    std::int64_t lease_ms = 0; ///< of who listens
    link_limits limits = {};
    proof_bytes mac{};
};

/// Why a connection is not, or no longer, wanted.
struct goodbye {
    error_code code = error_code::unavailable;
    std::string why;
};

/// What a reply's verb says: 0 no error, else 1 + its code, and 16 times its reason.
std::uint8_t verb_of_failure(error_code code, error_reason reason) noexcept;
std::pair<error_code, error_reason> failure_of_verb(std::uint8_t verb) noexcept;

/// A link that ends so ends with a task that is lost: it cannot be reached, or is not the one that it was. What else ends a link is
/// a mistake that stays.
constexpr error_reason reason_of_end(error_code code) noexcept {
    return code == error_code::unavailable || code == error_code::aborted ? error_reason::lost_task
                                                                          : error_reason::none;
}

bytes write(const hello& h);
bytes write(const challenge& c);
bytes write(const proof& p);
bytes write(const ready& r);
bytes write(const goodbye& g);

// Throw data_loss_error.
hello read_hello(std::span<const std::byte> from);
challenge read_challenge(std::span<const std::byte> from);
proof read_proof(std::span<const std::byte> from);
ready read_ready(std::span<const std::byte> from);
goodbye read_goodbye(std::span<const std::byte> from);

/// From the system's source.
nonce random_nonce();

// HMAC-SHA256 by the token over all that both have said, which holds both nonces and both incarnations, and of which side it is.
proof_bytes dialing_proof(const std::string& token, std::span<const std::byte> hello,
                          std::span<const std::byte> challenge);
/// Also over what ready says.
proof_bytes listening_proof(const std::string& token, std::span<const std::byte> hello,
                            std::span<const std::byte> challenge, const ready& r);
/// Takes as long wherever they differ.
bool same(const proof_bytes& a, const proof_bytes& b) noexcept;

// When a call was sent, by its sender's clock, and what was left then until its deadline: nanoseconds, the last 16 bytes of its body.
inline constexpr std::size_t time_left_bytes = 16;
void add_time_left(bytes& body, time_point deadline, time_point now);
/// Takes it off, and returns the deadline: never, or one that may have passed. Throws data_loss_error.
time_point take_time_left(bytes& body, time_point now, delays& late);

} // namespace tenon::net
