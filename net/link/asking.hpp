#pragma once

#include <utility>

#include <net/link/peer.hpp>
#include <net/wire/calls.hpp>

/// Calls and notes as what they say, rather than as bytes.

namespace tenon::net {

/// What a call was answered; throws the error that it was answered.
template <Call C> typename C::reply read_answer(answer a) {
    a.check();
    message m;
    m.body = std::move(a.body);
    m.arrays = std::move(a.arrays);
    return read_reply<C>(m);
}

// As peer::call, peer::ask and peer::note.
template <Call C>
std::uint64_t call(peer& to, const C& what, time_point deadline, call_done then, std::uint64_t incarnation = 0) {
    message m = message_of(what);
    return to.call(m.verb, std::move(m.body), std::move(m.arrays), deadline, std::move(then), incarnation);
}
template <Call C> typename C::reply ask(peer& to, const C& what, time_point deadline, std::uint64_t incarnation = 0) {
    message m = message_of(what);
    return read_answer<C>(to.ask(m.verb, std::move(m.body), std::move(m.arrays), deadline, incarnation));
}
template <Note C> void note(peer& to, const C& what, std::uint64_t incarnation = 0) {
    message m = message_of(what);
    to.note(m.verb, std::move(m.body), std::move(m.arrays), incarnation);
}

} // namespace tenon::net
