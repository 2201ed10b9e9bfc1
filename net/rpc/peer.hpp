#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <net/link/options.hpp>
#include <tenon/core/error.hpp>

/// The dialing side of links: calls to a process, and notes.

namespace tenon::net {

/// What a call ends with: a body and arrays, or an error.
struct answer {
    bool failed = false;
    error_code code = error_code::unknown; ///< where it failed
    error_reason reason = error_reason::none;
    std::string message;     ///< where it failed
    bool names_peer = false; ///< it failed on the way: the message begins with the peer's name
    bool unknown = false;    ///< and it was sent: nobody here knows whether it took effect
    bytes body = {};
    std::vector<any_array> arrays = {};

    /// Throws the exception that the code has, where it failed.
    void check() const {
        if (failed) throw_error(code, message, reason);
    }
};

/// Called once, on a thread of the transport, the one that calls or one that calls close(); under no lock. It does not wait for
/// anything (least of all for another call), and does not throw.
using call_done = std::function<void(answer)>;

/// Memory for array i of an answer that has this body: of this type, or an empty one. Called as call_done is, maybe again where the
/// connection ended meanwhile, not once the call has ended. But what it gave may be written to after a call ended without its
/// answer: nobody does any more when it is_unique() again.
using reply_place = std::function<any_array(const bytes& body, std::size_t i, const tensor_type& type)>;

/// How long a call waits for its answer.
struct call_time {
    call_time(time_point at, duration longer = {}) : deadline(at), grace(longer) {}
    time_point deadline; ///< goes with the call
    /// A peer that is there, and answers pings, has so much longer: it says itself what it waits for. One that is silent has not.
    duration grace;
};
/// Who has not answered a ping for so long is silent, where an answer is due.
inline constexpr duration silence = std::chrono::milliseconds(25);

struct peer_options {
    std::string address; ///< "host:port"
    // Who is expected there; another one is a failed_precondition_error that names both. An empty job: whoever it is.
    std::string job = {};
    std::int32_t task = 0;
    identity self = {};
    link_options link = {};
    link_limits limits = {}; ///< what this side takes: of replies
    turn_function turn_of = nullptr;
    /// Calls and notes of one turn that wait here, for the connection or for room at the peer; one that would make it more is a
    /// resource_exhausted_error. Arrays are shared, so these bytes are those of the caller's own arrays.
    std::size_t waiting_messages = 65536;
    std::size_t waiting_bytes = std::size_t{8} << 30;
    /// For messages: what a verb is called. Null: its number.
    const char* (*name_of_verb)(std::uint8_t verb) = nullptr;
    /// Notes that do the same when they come twice: where their link died, they are sent over the next one to the same life of the
    /// peer. Null: none are.
    bool (*may_repeat)(std::uint8_t verb) = nullptr;
    /// Called when a link has died that was ready, or that notes for a life of the peer waited for: which life, and what the link's
    /// calls fail with (for the reason that is reason_of_end of the code). As call_done is.
    std::function<void(std::uint64_t incarnation, error_code, const std::string& why)> lost = {};
};

/// Where a link stands.
enum class peer_state {
    idle,       ///< no link; a call begins one
    connecting, ///< a fresh link is not ready yet
    ready,
    resuming, ///< the connection was lost; the link lives until its lease ends
    closed,
};

/// One process, as another calls it. Links begin with the first call and after each death with the next. Thread-safe; each method
/// returns at once but ask().
///
/// While a link lives its calls and notes arrive once and, of one turn, in the order in which they were made, over as many
/// connections as that takes. A link is dead, and all of its calls fail,
/// - when there was no contact for the lease: unavailable_error; it, and the next three, are a lost_task_error;
/// - when the connection was lost, or none was there, and dials were refused for a heartbeat: unavailable_error;
/// - when the peer gave the link up (this process was stopped past its lease) or said goodbye: unavailable_error;
/// - when another incarnation answers: aborted_error, "... was restarted, and sessions from before are gone";
/// - when the handshake is refused for good (token, cluster, version, who it is): the error of that kind.
/// Their messages name the peer and say, of calls that were sent, that it is unknown whether they took effect.
class peer {
public:
    /// `t` outlives all that it calls.
    static std::shared_ptr<peer> make(transport& t, peer_options options);
    virtual ~peer() = default; ///< as close(), when the last owner leaves: callbacks are no owners

    /// Calls, and has `done` called once with the answer: not later than `until` says, but for the time a thread takes to get to it.
    /// The deadline goes with the call; when it passes, `done` gets a deadline_exceeded_error and the service is told. An
    /// incarnation other than 0: to this life of the peer, or aborted_error. `place`: where the answer's arrays are to be. Returns
    /// the call's number; `done` may have been called by then.
    virtual std::uint64_t call(std::uint8_t verb, bytes body, std::vector<any_array> arrays, call_time until,
                               call_done done, std::uint64_t incarnation = 0, reply_place place = {}) = 0;
    /// Tells the service, ahead of all that waits to be sent, that the call is not wanted any more. Its answer is waited for as if
    /// its deadline had come, with this grace; where there is none by then `done` gets a cancelled_error. Nothing where the call
    /// has ended.
    virtual void cancel(std::uint64_t call, duration grace = {}) = 0;
    /// Ends what is of a turn, waits to be sent or was, with this error: all calls, or those that may wait. The service is not
    /// told: it knows otherwise.
    virtual void end_calls(std::uint64_t turn, bool all, error_code code, const std::string& why) = 0;
    /// Posts a note: no answer; lost with its link, but for those that may be repeated. Throws resource_exhausted_error where too
    /// much waits, aborted_error where `incarnation` is not 0 and another one is known.
    virtual void note(std::uint8_t verb, bytes body, std::vector<any_array> arrays, std::uint64_t incarnation = 0) = 0;
    /// Calls and works for the transport until the answer is there; throws its error.
    virtual answer ask(std::uint8_t verb, bytes body, std::vector<any_array> arrays, call_time until,
                       std::uint64_t incarnation = 0) = 0;
    /// Has `done` called when there is a link; until the deadline dials that are refused, or time out, are repeated. So one waits
    /// for a task that is not there yet. Fails with deadline_exceeded_error, which says why there was none.
    virtual void connect(time_point deadline, call_done done) = 0;

    /// All calls end with cancelled_error, the service is told goodbye, nothing can be called any more. Again: nothing.
    virtual void close() = 0;

    virtual peer_state state() const = 0;
    /// Who it is, and when it was last heard of: "/job:ps/task:0 (127.0.0.1:2222), which was last heard of 0.3 s ago".
    virtual std::string last_heard() const = 0;
    /// Of the process that the link is to; 0 while there has been none.
    virtual std::uint64_t incarnation() const = 0;
    /// "/job:ps/task:0 (127.0.0.1:2222)"
    virtual const std::string& name() const noexcept = 0;

    /// What it holds, for status pages and tests.
    struct counts {
        std::size_t calls = 0;   ///< not ended, or ended here and not answered yet
        std::size_t waiting = 0; ///< calls and notes that wait to be sent
        std::size_t waiting_bytes = 0;
        std::size_t kept_messages = 0; ///< sent, and not acknowledged
        std::size_t kept_bytes = 0;
        std::uint64_t links = 0;       ///< begun in all
        std::uint64_t connections = 0; ///< that became ready, in all
        bool is_linked = false;
        time_point heard = time_point::min(); ///< when it was last heard of
        traffic carried;                      ///< in all
    };
    virtual counts count() const = 0;

protected:
    peer() = default;
};

} // namespace tenon::net
