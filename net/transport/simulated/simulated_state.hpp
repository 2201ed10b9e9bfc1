#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <net/transport/simulated/simulated.hpp>

/// What a simulated network is made of. All of it is guarded by one mutex, under which nobody is called.

namespace tenon::net {

struct simulated_host;
struct simulated_process;
struct simulated_connection;

/// Two sides of a connection. A side is kept here while it is open.
struct simulated_wire {
    std::shared_ptr<simulated_connection> side[2];
};

/// What has happened, as it is kept: words are made of it when somebody reads them.
struct simulated_memory {
    time_point at;
    const char* what;
    const simulated_host* from = nullptr;
    const simulated_host* to = nullptr;
    std::uint64_t connection = 0;
    message head; // without body and arrays
    std::size_t size = 0;
    bool has_message = false;
    std::string words;
};

struct simulated_network::state final : waker, std::enable_shared_from_this<simulated_network::state> {
    using key = std::pair<time_point, std::uint64_t>;
    struct event {
        simulated_process* owner = nullptr; // null: the test's own, or the network's
        std::function<void()> what;
    };
    /// One direction between two hosts.
    struct direction {
        simulated_direction line;
        bool cut = false;
    };

    mutable std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t wakes = 0;
    std::atomic<time_point> now{time_point(std::chrono::hours(1))};
    std::mt19937_64 random;
    simulated_direction usual;
    simulated_faults faults;
    std::uint64_t fault_epoch = 0;
    bool is_private = true, shares_arrays = false;
    std::function<bool()> busy;
    int workers = 0; // how deep `worker` is in work_until
    std::thread::id worker;
    bool ended = false;

    std::map<key, event> queue;
    std::unordered_map<std::uint64_t, time_point> timers; // of those in the queue that may be cancelled
    std::uint64_t made = 0, happened = 0, wires_made = 0;
    std::map<std::string, std::unique_ptr<simulated_host>> hosts;
    std::vector<std::unique_ptr<simulated_process>> processes;
    std::map<std::pair<std::size_t, std::size_t>, direction> directions; // by the hosts' numbers
    std::map<std::uint64_t, simulated_wire> wires;
    std::deque<simulated_memory> memories;

    // All below: the mutex is held.
    std::uint64_t at(time_point when, simulated_process* owner, std::function<void()> what);
    std::uint64_t after(duration d, simulated_process* owner, std::function<void()> what) {
        return at(now.load() + d, owner, std::move(what));
    }
    simulated_host& host(const std::string& name);
    direction& between(const simulated_host* from, const simulated_host* to);
    duration way(const simulated_host* from, const simulated_host* to); // latency with its jitter
    bool chance(double p);
    duration about(duration mean); // exponentially distributed, at most ten times the mean
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(random() % n); }
    simulated_memory& remember(const char* what, const simulated_host* from = nullptr,
                               const simulated_host* to = nullptr, std::uint64_t connection = 0);
    void deliver_held(const simulated_host* from, const simulated_host* to);
    void lose(std::uint64_t wire, int hears); // 0, 1: that side; 2: both; 3: neither
    void kill(simulated_host& h, bool silently, std::vector<std::function<void()>>& dead);
    void go_on(simulated_host& h);
    void plan_fault(duration mean, std::function<void()> what); // again and again
    void begin_faults();

    bool work_until(function_ref<bool()> done, time_point limit, const simulated_process* of);
    void wake() noexcept override {
        const std::lock_guard lock(mutex);
        ++wakes;
        changed.notify_all();
    }
};

/// One direction of a host's card.
struct simulated_card_end {
    time_point free{}, small_free{}; ///< for large and for small messages

    /// When a message that comes at `now`, and takes so long, is over.
    time_point take(time_point now, duration takes, bool small) {
        free = std::max(free, now) + takes;
        if (!small) return free;
        return small_free = std::max(small_free, now) + takes;
    }
};

struct simulated_host {
    std::string name;
    std::size_t number = 0; // in the order in which they were made
    simulated_process* running = nullptr;
    bool paused = false, refuses = false;
    duration wall_clock{};
    duration ahead{}; // its steady clock, of the network's time
    time_point went_on{};
    std::uint16_t next_port = 40000;
    simulated_card card;
    bool has_card = false;
    simulated_card_end outward, inward;
    std::vector<std::pair<std::uint64_t, simulated_network::state::event>> deferred; // with their numbers
};

struct simulated_process final : transport {
    simulated_process(simulated_network::state& s, simulated_host& h) : net(s), where(h) {}

    void dial(const std::string& address, duration limit, dialed then) override;
    std::unique_ptr<listener> listen(const std::string& address, accept each) override;
    time_point now() const noexcept override { return net.now.load() + where.ahead; }
    /// By the network's time.
    time_point of_network(time_point here) const noexcept {
        return here == time_point::max() ? here : here - where.ahead;
    }
    std::uint64_t random_number() override;
    std::uint64_t call_at(time_point at, std::function<void()> what) override;
    bool cancel(std::uint64_t timer) noexcept override;
    bool work_until(function_ref<bool()> done, time_point limit) override {
        return net.work_until(done, of_network(limit), this);
    }
    void wake() noexcept override { net.wake(); }
    std::shared_ptr<waker> shared_waker() override { return net.shared_from_this(); }
    bool has_threads() const noexcept override { return false; }

    void try_dial(const std::string& address, time_point began, duration limit, std::shared_ptr<dialed> then);
    void connect(simulated_process& to, const std::string& address, std::shared_ptr<accept> each,
                 std::shared_ptr<dialed> then);

    simulated_network::state& net;
    simulated_host& where;
    bool alive = true;
    std::map<std::string, std::shared_ptr<accept>> listeners; // by address
};

/// One side of a connection. Its wire keeps it while it is open; what it is used by keeps it too.
struct simulated_connection final : connection, std::enable_shared_from_this<simulated_connection> {
    simulated_connection(std::shared_ptr<simulated_network::state> s, simulated_process& p) :
        net(std::move(s)), owner(p) {}

    void send(message m) override;
    std::size_t unsent_bytes() const noexcept override;
    void close(const std::string& why) noexcept override;
    const std::string& peer() const noexcept override { return peer_address; }
    bool is_private() const noexcept override { return hidden; }

    // The mutex is held.
    void carry(message m, bool again = false);
    void land(message m, std::size_t size, time_point when);
    void arrive(time_point when, message m, std::size_t size);
    void begin_end(const std::string& why); // closed() follows, for this side
    void end_after(duration d, const std::string& why);
    void hear_end_of(const simulated_host& from, time_point earliest); // the other side, which is there

    // Called by events: no mutex.
    void begin_message(std::size_t place);
    void receive(std::size_t place);

    /// A message on its way to this side.
    struct arriving {
        message m;
        std::vector<any_array> places;
        bool begun = false;
    };

    std::shared_ptr<simulated_network::state> net;
    simulated_process& owner;
    std::shared_ptr<simulated_connection> other; // null when either side is closed, and the other knows
    std::uint64_t wire = 0;
    int side = 0;
    std::string peer_address;
    bool hidden = true;
    bool open = true;
    bool other_is_gone = false; // which this side hears of when it sends, if not before
    bool reset_comes = false;
    std::shared_ptr<connection_user> user;
    // Of what this side sends: when the last was sent, came to the other host, and arrived.
    time_point line_free{}, came_small{}, came_any{}, last_small{}, last_any{};
    std::deque<message> held; // behind a cut line
    std::size_t held_bytes = 0;
    std::map<std::size_t, arriving> on_the_way;
    std::size_t next_place = 0;
};

const char* name_of(message_type type) noexcept;

} // namespace tenon::net
