#pragma once

#include <cstdint>
#include <vector>

#include <net/wire/client_calls.hpp>
#include <net/wire/message.hpp>
#include <net/wire/worker_calls.hpp>

/// What clients, masters and workers say to each other. A call has a `reply`, or is answered an error; a note has none. All
/// times are durations: no clocks are compared. docs/protocol.md says when each is sent.

namespace tenon::net {

/// Who may say it.
enum class verb_caller : std::uint8_t {
    anyone, ///< clients, and tasks as clients
    task,   ///< a task of the cluster
};
/// In which order it is taken, of all that a link brings: turns are sessions'.
enum class verb_turn : std::uint8_t {
    control, ///< before all else: it begins or ends something, or asks how things are
    session, ///< after what was said of its session before
    step,    ///< the same, and it may wait for ever
};

// All calls and notes: the number on the wire, the name, who may say it, in which turn. The body of a session's or a step's begins
// with the session's number (of ask_model with its client's, of collective_part with its group's).
#define TENON_NET_CALLS(CALL, NOTE)             \
    CALL(0, open_session, anyone, control)      \
    CALL(1, extend_graph, anyone, session)      \
    CALL(2, make_callable, anyone, session)     \
    CALL(3, run_step, anyone, step)             \
    NOTE(4, drop_callable, anyone, session)     \
    NOTE(5, runner_started, anyone, session)    \
    NOTE(6, stop_steps, anyone, control)        \
    CALL(7, report_step, anyone, session)       \
    CALL(8, explain_step, anyone, session)      \
    CALL(9, list_devices, anyone, control)      \
    CALL(10, ask_memory, anyone, control)       \
    CALL(11, ask_statistics, anyone, control)   \
    CALL(12, set_random_runs, anyone, control)  \
    CALL(13, close_session, anyone, control)    \
    CALL(14, reset_containers, anyone, control) \
    CALL(15, ask_status, anyone, control)       \
    CALL(16, stop_server, anyone, control)      \
    CALL(17, serve_data, anyone, step)          \
    CALL(18, give_data, anyone, session)        \
    /* master -> worker */                      \
    CALL(19, describe_task, task, control)      \
    CALL(20, begin_session, task, control)      \
    CALL(21, register_part, task, session)      \
    NOTE(22, forget_part, task, session)        \
    CALL(23, run_part, task, step)              \
    NOTE(24, stop_step, task, session)          \
    NOTE(25, settle_step, task, session)        \
    CALL(26, ask_waits, task, control)          \
    NOTE(27, go_on_from_runs, task, control)    \
    CALL(28, end_session, task, control)        \
    CALL(29, reset_task, task, control)         \
    CALL(30, ask_task_status, task, control)    \
    /* task -> task */                          \
    NOTE(31, step_values, task, session)        \
    CALL(32, attend_run, task, control)         \
    CALL(33, leave_run, task, control)          \
    NOTE(34, collective_here, task, control)    \
    NOTE(35, collective_part, task, session)    \
    NOTE(36, collective_end, task, control)     \
    CALL(37, describe_model, anyone, control)   \
    CALL(38, ask_model, anyone, step)

enum class verb : std::uint8_t {
#define TENON_NET_VERB(NUMBER, NAME, CALLER, TURN) NAME = NUMBER,
    TENON_NET_CALLS(TENON_NET_VERB, TENON_NET_VERB)
#undef TENON_NET_VERB
        count
};

/// What is known of a verb.
struct verb_info {
    const char* name;
    bool is_note;
    verb_caller caller;
    verb_turn turn;
};
/// Of what is no verb: "unknown".
constexpr verb_info info_of(verb v) noexcept {
    switch (v) {
#define TENON_NET_CALL(NUMBER, NAME, CALLER, TURN) \
    case verb::NAME:                               \
        return {#NAME, false, verb_caller::CALLER, verb_turn::TURN};
#define TENON_NET_NOTE(NUMBER, NAME, CALLER, TURN) \
    case verb::NAME: return {#NAME, true, verb_caller::CALLER, verb_turn::TURN};
        TENON_NET_CALLS(TENON_NET_CALL, TENON_NET_NOTE)
#undef TENON_NET_CALL
#undef TENON_NET_NOTE
    case verb::count: break;
    }
    return {"unknown", false, verb_caller::anyone, verb_turn::control};
}
/// For logs: "run_step".
constexpr const char* name_of(verb v) noexcept { return info_of(v).name; }
constexpr bool is_note(verb v) noexcept { return info_of(v).is_note; }
/// What tasks say to each other, and no client may.
constexpr bool is_of_tasks(verb v) noexcept { return info_of(v).caller == verb_caller::task; }

/// Which it is.
template <class C> inline constexpr verb verb_of = verb::count;
#define TENON_NET_VERB(NUMBER, NAME, CALLER, TURN) template <> inline constexpr verb verb_of<NAME> = verb::NAME;
TENON_NET_CALLS(TENON_NET_VERB, TENON_NET_VERB)
#undef TENON_NET_VERB

template <class C>
concept Call = verb_of<C>
!= verb::count&& requires { typename C::reply; };
template <class C>
concept Note = verb_of<C>
!= verb::count && !Call<C>;

/// A call or note as a message, whose request and sequence its link sets. Shares its arrays.
template <class C>
    requires(Call<C> || Note<C>)
message message_of(const C& c);
/// The reverse. data_loss_error or invalid_argument_error, which name the verb, where it is none. Takes the arrays out of m.
template <class C>
    requires(Call<C> || Note<C>)
C read(message& m);

/// The reply to a call C. An error instead of it is the link's.
template <Call C> message reply_to(const typename C::reply& r);
/// The reverse. Throws what read() throws.
template <Call C> typename C::reply read_reply(message& m);

/// Where the arrays beside a step_values note belong, before they are there: of each the edge; -1 of packed strings. Throws what
/// read() throws.
struct awaited_values {
    std::uint64_t session = 0, step = 0;
    std::vector<std::int64_t> edges;
};
awaited_values awaited_by(const message& step_values_head);

/// The same of a collective_part note: all but its value.
collective_part awaited_part(const bytes& collective_part_body);

/// Calls f.template operator()<C>() with the call or note of this verb; false where there is none.
template <class F> bool with_verb(verb v, F&& f) {
    switch (v) {
#define TENON_NET_VERB(NUMBER, NAME, CALLER, TURN) \
    case verb::NAME: f.template operator()<NAME>(); return true;
        TENON_NET_CALLS(TENON_NET_VERB, TENON_NET_VERB)
#undef TENON_NET_VERB
    case verb::count: break;
    }
    return false;
}

} // namespace tenon::net
