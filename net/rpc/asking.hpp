#pragma once

#include <utility>

#include <net/rpc/peer.hpp>
#include <net/wire/calls.hpp>

/// Calls and notes as what they say, rather than as bytes.

namespace tenon::net {

/// Which session a call or note is of, where it is of one; 1 where none can be read.
inline std::uint64_t session_of(const bytes& body) noexcept {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < 8 && body.size() >= 8; ++i)
        n |= std::uint64_t{std::to_integer<std::uint8_t>(body[i])} << (8 * i);
    return n == 0 ? 1 : n;
}

inline call_turn turn_of(std::uint8_t v, const bytes& body) {
    const verb_turn turn = info_of(static_cast<verb>(v)).turn;
    if (turn == verb_turn::control) return {0, false};
    return {session_of(body), turn == verb_turn::step};
}

/// The grace (call_time) of steps and requests, in seconds: a server that is there says itself that a limit has passed, and what was waited for.
inline constexpr double seconds_longer = 1;

/// How a peer takes and names these calls.
inline void speak_calls(peer_options& o) {
    o.turn_of = turn_of;
    o.name_of_verb = [](std::uint8_t v) { return name_of(static_cast<verb>(v)); };
}

/// What a call was answered; throws the error that it was answered.
template <Call C> typename C::reply read_answer(answer a) {
    a.check();
    message m{.body = std::move(a.body), .arrays = std::move(a.arrays)};
    return read_reply<C>(m);
}

// As peer::call, peer::ask and peer::note.
template <Call C>
std::uint64_t call(peer& to, const C& what, call_time until, call_done then, std::uint64_t incarnation = 0) {
    message m = message_of(what);
    return to.call(m.verb, std::move(m.body), std::move(m.arrays), until, std::move(then), incarnation);
}
template <Call C> typename C::reply ask(peer& to, const C& what, call_time until, std::uint64_t incarnation = 0) {
    message m = message_of(what);
    return read_answer<C>(to.ask(m.verb, std::move(m.body), std::move(m.arrays), until, incarnation));
}
template <Note C> void note(peer& to, const C& what, std::uint64_t incarnation = 0) {
    message m = message_of(what);
    to.note(m.verb, std::move(m.body), std::move(m.arrays), incarnation);
}

} // namespace tenon::net
