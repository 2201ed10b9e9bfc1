#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <net/link/delays.hpp>
#include <net/link/options.hpp>
#include <net/wire/message.hpp>

/// One end of a link, as a state machine: no I/O, no clock, no locks. What arrives, and the time, go in; what is to be sent, what is
/// in order and what is over come out.

namespace tenon::net {

/// Calls, replies and notes are numbered from 1 in each direction, and kept until the other end says that it has them. While there
/// is a connection, next() gives what is to be sent over it; after a loss connected() begins again behind what the other end had by
/// then. What comes twice is dropped. What comes early waits for what it has overtaken, but for replies, which need no order.
///
/// Its memory is what is kept (its owner looks at kept_bytes() and posts no more), what came early (link_options::early_messages),
/// and control messages, of which there is at most one of each kind, and a cancel for each call.
class link {
public:
    enum class side { dialing, listening };
    link(side s, const link_options& options, time_point now);

    // ---- what goes out

    /// Numbers a message, keeps it until it is acknowledged, and returns its number. A call is sent with what is left until
    /// `deadline`.
    std::uint64_t post(message m, time_point deadline = never);
    /// For the present connection only, ahead of what is posted, unnumbered.
    void post_urgent(message m);
    /// The next to send over the present connection: shares the arrays of what is kept.
    std::optional<message> next(time_point now);

    /// The last of the messages that the other end is known to have.
    std::uint64_t acknowledged() const noexcept { return acknowledged_; }
    std::size_t kept_messages() const noexcept { return kept_.size(); }
    std::size_t kept_bytes() const noexcept { return kept_bytes_; }
    /// Takes out what is kept, in order: the end of the link.
    std::vector<message> take_kept();
    /// Arrays of what has been acknowledged since the last time: they end where no lock is held.
    std::vector<any_array> released() noexcept { return std::exchange(released_, {}); }

    // ---- connections

    /// The last message of those received without a gap.
    std::uint64_t received() const noexcept { return received_; }
    /// There is a connection to an other end that has received everything up to `by_other`. Throws data_loss_error where that cannot
    /// be: it was acknowledged and is forgotten here, or was never sent.
    void connected(std::uint64_t by_other, time_point now);
    void disconnected() noexcept;

    // ---- what comes in

    /// Takes a message from the present connection. Returns what its owner is to look at: the next call, reply or note in order, a
    /// cancel, a goodbye. Then next_in_order() until it is empty. Throws data_loss_error for what cannot come on a link, or
    /// leaves a gap that is too large: the connection is to be closed, and another one resumes.
    std::optional<message> receive(message m, time_point now);
    std::optional<message> next_in_order();
    /// Takes the deadline off a call's body: by this side's clock, however long the call was on its way.
    time_point take_deadline(bytes& body, time_point now);
    /// Not received before, so that its arrays may be read to where they are to be.
    bool is_new(const message& head) const;

    // ---- time

    /// Sees to pings and acknowledgements: call next() afterwards.
    void tick(time_point now);
    /// When tick(), is_dead() or is_doubtful() may say something else.
    time_point next_tick() const noexcept;
    /// No contact for the lease. For the dialing side that is an answer to what it sent; for the listening side anything received.
    bool is_dead(time_point now) const noexcept { return now - contact_ >= options_.lease; }
    /// Two thirds of it: the connection may be one that nobody told of its end; another one may be better.
    bool is_doubtful(time_point now) const noexcept { return connected_ && now >= doubtful_at(); }
    time_point contact() const noexcept { return contact_; }
    /// Has the dialing side know soon whether the other one is there: pings, unless it was heard of or pinged just now.
    void ask(time_point now);
    /// Since when a ping is not answered; `never`: none is open.
    time_point asked() const noexcept { return asked_; }
    void ping(time_point now);
    /// The fastest of the last pings: so long a pong takes at least.
    duration round_trip() const noexcept { return *std::min_element(trips_.begin(), trips_.end()); }
    /// When ask() will ping, where none is open.
    time_point may_ask() const noexcept { return std::max(contact_, pinged_) + ask_gap; }
    /// Pings at least so often: the other end has a shorter lease.
    void set_heartbeat(duration d) noexcept { options_.heartbeat = d; }

private:
    static constexpr duration ask_gap = std::chrono::milliseconds(10), pong_gap = ask_gap / 2;

    struct kept {
        message m;
        time_point deadline;
        std::size_t size;
    };

    time_point doubtful_at() const noexcept { return contact_ + options_.lease / 3 * 2; }
    bool acknowledge(std::uint64_t by_other);
    bool overtakes_too_many() const noexcept;
    void owe(std::size_t size, time_point now) noexcept;
    [[noreturn]] static void wrong(const std::string& what);

    side side_;
    link_options options_;
    bool connected_ = false;
    time_point contact_;

    std::deque<kept> kept_;           // numbers acknowledged_ + 1, ...
    std::deque<std::uint64_t> large_; // those of them that others may overtake
    std::size_t kept_bytes_ = 0;
    std::size_t unsent_ = 0;         // of kept_: the first that this connection has not had
    std::uint64_t acknowledged_ = 0; // by the other end
    std::uint64_t sent_ = 0;         // the last that was ever given to a connection
    std::deque<message> urgent_;
    std::vector<any_array> released_;
    time_point pinged_{}, asked_ = time_point::max();
    std::array<duration, 8> trips_{}; // of the last pings
    std::size_t last_trip_ = 0;

    std::uint64_t received_ = 0;
    std::map<std::uint64_t, message> early_; // a reply's is empty: it was not held
    std::uint64_t owed_messages_ = 0;        // received, and not said so
    std::size_t owed_bytes_ = 0;
    time_point owed_since_{};
    bool acknowledge_now_ = false;
    std::optional<std::uint64_t> pong_; // asked for by the ping of this number
    time_point ponged_{};
    delays late_; // of what comes in
};

} // namespace tenon::net
