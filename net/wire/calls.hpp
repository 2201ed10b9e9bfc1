#pragma once

#include <cstdint>
#include <vector>

#include <net/wire/client_calls.hpp>
#include <net/wire/message.hpp>
#include <net/wire/worker_calls.hpp>

/// What clients, masters and workers say to each other. A call has a `reply`, or is answered an error; a note has none. All
/// times are durations: no clocks are compared. docs/protocol.md says when each is sent.

namespace tenon::net {

// What a process calls as a client, and what only a task of the cluster may.
#define TENON_NET_CLIENT_CALLS(CALL, NOTE) \
    CALL(open_session)                     \
    CALL(extend_graph)                     \
    CALL(make_callable)                    \
    CALL(run_step)                         \
    NOTE(drop_callable)                    \
    NOTE(runner_started)                   \
    NOTE(stop_steps)                       \
    CALL(report_step)                      \
    CALL(explain_step)                     \
    CALL(list_devices)                     \
    CALL(ask_memory)                       \
    CALL(ask_statistics)                   \
    CALL(set_random_runs)                  \
    CALL(close_session)                    \
    CALL(reset_containers)                 \
    CALL(ask_status)                       \
    CALL(stop_server)                      \
    CALL(serve_data)                       \
    CALL(give_data)
#define TENON_NET_TASK_CALLS(CALL, NOTE) \
    /* master -> worker */               \
    CALL(describe_task)                  \
    CALL(begin_session)                  \
    CALL(register_part)                  \
    NOTE(forget_part)                    \
    CALL(run_part)                       \
    NOTE(stop_step)                      \
    NOTE(settle_step)                    \
    CALL(ask_waits)                      \
    NOTE(go_on_from_runs)                \
    CALL(end_session)                    \
    CALL(reset_task)                     \
    CALL(ask_task_status)                \
    /* task -> task */                   \
    NOTE(step_values)                    \
    CALL(attend_run)                     \
    CALL(leave_run)                      \
    NOTE(collective_here)                \
    NOTE(collective_part)                \
    NOTE(collective_end)
// Of clients too, who ask models that are served.
#define TENON_NET_MODEL_CALLS(CALL, NOTE) \
    CALL(describe_model)                  \
    CALL(ask_model)
// Their order is their number on the wire.
#define TENON_NET_CALLS(CALL, NOTE)    \
    TENON_NET_CLIENT_CALLS(CALL, NOTE) \
    TENON_NET_TASK_CALLS(CALL, NOTE)   \
    TENON_NET_MODEL_CALLS(CALL, NOTE)

enum class verb : std::uint8_t {
#define TENON_NET_VERB(NAME) NAME,
    TENON_NET_CALLS(TENON_NET_VERB, TENON_NET_VERB)
#undef TENON_NET_VERB
        count
};
/// For logs: "run_step"; "unknown" of what is none.
const char* name_of(verb v) noexcept;

/// Which it is.
template <class C> inline constexpr verb verb_of = verb::count;
#define TENON_NET_VERB(NAME) template <> inline constexpr verb verb_of<NAME> = verb::NAME;
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

bool is_note(verb v) noexcept;
/// What tasks say to each other, and no client may.
constexpr bool is_of_tasks(verb v) noexcept {
    switch (v) {
#define TENON_NET_VERB(NAME) case verb::NAME:
        TENON_NET_TASK_CALLS(TENON_NET_VERB, TENON_NET_VERB)
#undef TENON_NET_VERB
        return true;
    default: return false;
    }
}
/// Calls f.template operator()<C>() with the call or note of this verb; false where there is none.
template <class F> bool with_verb(verb v, F&& f) {
    switch (v) {
#define TENON_NET_VERB(NAME) \
    case verb::NAME: f.template operator()<NAME>(); return true;
        TENON_NET_CALLS(TENON_NET_VERB, TENON_NET_VERB)
#undef TENON_NET_VERB
    case verb::count: break;
    }
    return false;
}

} // namespace tenon::net
