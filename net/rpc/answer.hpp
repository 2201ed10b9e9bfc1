#pragma once

#include <exception>
#include <utility>

#include <net/rpc/service.hpp>
#include <net/wire/calls.hpp>

/// Answering calls.

namespace tenon::net {

inline void fail(replier& to, const std::exception_ptr& why) {
    const failure f = failure::of(why);
    to.fail(f.code, f.message, f.reason);
}

template <Call C> void reply(replier& to, const typename C::reply& r) {
    message m = reply_to<C>(r);
    to.reply(std::move(m.body), std::move(m.arrays));
}

/// f(), of which what it throws is the answer, if it has not answered, nor moved the replier away.
template <class F> void answering(replier& to, F&& f) {
    try {
        f();
    } catch (...) {
        if (to) fail(to, std::current_exception());
    }
}

/// Reads a call and answers what f(call) returns, or throws.
template <Call C, class F> void answer_at_once(message& m, replier& to, F&& f) {
    answering(to, [&] {
        C call = read<C>(m);
        if constexpr (std::is_void_v<decltype(f(std::move(call)))>) {
            f(std::move(call));
            reply<C>(to, {});
        } else reply<C>(to, f(std::move(call)));
    });
}
/// The same for what is answered later: f(call, replier). What it throws is the answer, if it has not moved the replier away: so it
/// hands it on by reference to what may throw.
template <Call C, class F> void answer_later(message& m, replier to, F&& f) {
    answering(to, [&] { f(read<C>(m), to); });
}

} // namespace tenon::net
