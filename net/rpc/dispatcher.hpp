#pragma once

#include <array>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include <net/rpc/answer.hpp>
#include <net/transport/transport.hpp>

/// Which part of a task does what it is called for: a table of handlers, one a verb.

namespace tenon::net {

/// A call or note, beside what it says.
struct call_context {
    link_number link = 0;
    time_point deadline = time_point::max(); ///< of a call
};

/// Filled while a task is made; after that any thread may dispatch.
class dispatcher {
public:
    /// The handler of call C: f(context, C) gives the reply, or throws the error, that is the answer; f(context, C, replier) answers
    /// later (answer_later); f(context, message, replier) reads the call itself, as large ones are read in their session's turn.
    template <Call C, class F> void on(F f) {
        calls_[index<C>] = [f = std::move(f)](const call_context& in, message&& m, replier&& to) {
            if constexpr (std::is_invocable_v<const F&, const call_context&, message&&, replier&&>)
                answering(to, [&] { f(in, std::move(m), std::move(to)); });
            else if constexpr (std::is_invocable_v<const F&, const call_context&, C&&, replier&>)
                answer_later<C>(m, std::move(to), [&](C&& c, replier& later) { f(in, std::move(c), later); });
            else answer_at_once<C>(m, to, [&](C&& c) { return f(in, std::move(c)); });
        };
    }
    /// The handler of note N: f(context, N), or f(context, message), which reads it itself. Of a note that is damaged, or of what has
    /// ended, nothing is done: who sent it is another program, or late.
    template <Note N, class F> void on(F f) {
        notes_[index<N>] = [f = std::move(f)](const call_context& in, message&& m) {
            try {
                if constexpr (std::is_invocable_v<const F&, const call_context&, message&&>) f(in, std::move(m));
                else f(in, read<N>(m));
            } catch (const error&) {
            }
        };
    }

    /// Has it answered; unimplemented_error where nobody handles it.
    void call(verb which, const call_context& in, message&& m, replier&& to) const {
        if (const auto* handler = find(calls_, which)) (*handler)(in, std::move(m), std::move(to));
        else to.fail(error_code::unimplemented, std::string("this task is not called ") + name_of(which));
    }
    void note(verb which, const call_context& in, message&& m) const {
        if (const auto* handler = find(notes_, which)) (*handler)(in, std::move(m));
    }

private:
    static constexpr auto verbs = static_cast<std::size_t>(verb::count);
    template <class C> static constexpr auto index = static_cast<std::size_t>(verb_of<C>);
    template <class H> static const H* find(const std::array<H, verbs>& all, verb which) noexcept {
        const auto i = static_cast<std::size_t>(which);
        return i < verbs && all[i] ? &all[i] : nullptr;
    }

    std::array<std::function<void(const call_context&, message&&, replier&&)>, verbs> calls_;
    std::array<std::function<void(const call_context&, message&&)>, verbs> notes_;
};

} // namespace tenon::net
