#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include <net/transport/transport.hpp>
#include <tenon/core/function_ref.hpp>

/// A network, processes and time that are simulated, from a seed: what happens is the same each time.

namespace tenon::net {

/// One direction between two hosts.
struct simulated_direction {
    duration latency = std::chrono::microseconds(100);
    duration jitter = std::chrono::microseconds(50); ///< at most so much is added, at random
    double bytes_per_second = 1e9;
};

/// What all connections of a host share, in each direction by itself: its network card. Large messages go one after another, in
/// the order in which they come; small ones (is_small) ahead of them, one after another. What goes over two cards takes both: at
/// the same time where the receiver's is free, so that it takes as long as over the slower.
struct simulated_card {
    double bytes_per_second = std::numeric_limits<double>::infinity();
    duration per_message{}; ///< each takes so much longer
};

/// What goes wrong by itself. Rates are of what may go wrong, times are means of what is drawn; 0 is never.
struct simulated_faults {
    double duplicate = 0; ///< messages that arrive twice on their connection
    double reorder = 0;   ///< messages that others pass: small ones too, which no real connection does
    double slow = 0;      ///< messages that come `slow_by` later, and all after them
    duration slow_by{};
    double refuse = 0;                           ///< dials
    duration connection_life{};                  ///< from its beginning to its loss
    double one_side = 0.5;                       ///< lost connections of which one side hears when it sends, not before
    duration partition_every{}, partition_for{}; ///< of two hosts, drawn
    double one_way = 0.5;                        ///< partitions that let one direction through
    duration pause_every{}, pause_for{};         ///< of a host
    duration clock_jump_every{};                 ///< of a host's wall clock, to and fro, by up to a day
};

/// Hosts by name; each runs one process at a time, which has a transport. A process that was killed is one no more: its transport
/// does nothing, and what it would have called is not called.
///
/// Work is done, and time passes, in work_until (of any process's transport): on the thread that calls it, events in the order of
/// their times, then of their making. Where nothing is due time goes on to what is next. Other threads may send, set timers and
/// wake; with `set_busy` time stands while they work. Without such threads all depends on the seed alone.
///
/// Over a cut line nothing is lost: as TCP does, it waits until the line is whole, or its connection is closed.
class simulated_network {
public:
    explicit simulated_network(std::uint64_t seed, simulated_direction line = {});
    ~simulated_network();
    simulated_network(const simulated_network&) = delete;

    /// Starts a process on this host, which is made where it is not known; one that runs there is killed first. The transport
    /// lives as long as the network.
    transport& start(const std::string& host);
    /// Ends the host's process, its connections, listeners and timers. Its peers are told, as a system does for a process that
    /// ends; silently: only when they send, as after a loss of power.
    void kill(const std::string& host, bool silently = false);
    /// Its process stands still: what is to happen to it happens when it goes on, in order.
    void pause(const std::string& host);
    void go_on(const std::string& host);
    /// When a pause of the host last ended; the beginning of time where there was none.
    time_point went_on(const std::string& host) const;

    /// Nothing arrives in this direction until it is mended.
    void cut(const std::string& from, const std::string& to);
    void mend(const std::string& from, const std::string& to);
    void set_line(const std::string& from, const std::string& to, simulated_direction line);
    /// Of a host, from now on; at first it is none that anybody notices.
    void set_card(const std::string& host, simulated_card card);
    /// Arrays arrive as they were sent, neither read nor copied, and no place for them is asked for: for programs to which only their
    /// sizes matter. They may be views of memory that is not there.
    void share_arrays(bool shared);
    /// Who hears of it: both; or the side of `a`; the other one hears when it sends.
    void lose_connections(const std::string& a, const std::string& b, bool both_hear = true);
    /// Dials to the host are refused, as when nobody listens.
    void refuse_dials(const std::string& host, bool refused = true);
    /// What connection::is_private says of connections that are made from now on; true at first.
    void set_private(bool is_private);
    /// The steady clock of processes that are started there from now on: so much it shows more than the network's time.
    void set_clock(const std::string& host, duration ahead);
    /// The host's wall clock; nothing in a transport depends on it.
    void jump_wall_clock(const std::string& host, duration by);
    std::chrono::system_clock::time_point wall_clock(const std::string& host) const;

    /// Faults from the seed, until told otherwise. {} ends them and mends, and wakes, what they left cut or paused.
    void inject(const simulated_faults& faults);

    time_point now() const noexcept;
    /// Calls `what` at that time, for nobody's process: the program of a test.
    void call_at(time_point at, std::function<void()> what);
    /// Works until done(), the time has come, or there is nothing left to do.
    bool work_until(function_ref<bool()> done, time_point limit);
    void work_for(duration d);
    /// While it says true, other threads work, and time stands; wake() (or anything they send) has it asked again.
    void set_busy(std::function<bool()> busy);
    void wake() noexcept;

    /// Open ones: each has two sides, and counts while one of them is.
    std::size_t connections() const;
    std::uint64_t events() const; ///< that have happened
    /// The last things that happened, a line each, of at most `lines`.
    std::string history(std::size_t lines = 400) const;
    /// Adds a line to the history.
    void remember(std::string what);

    struct state; // in simulated_state.hpp

private:
    std::shared_ptr<state> state_;
};

} // namespace tenon::net
