#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <net/transport/simulated/simulated.hpp>

/// Programs of clients, written as they are for real servers: they call, and wait for the answer. Each is a thread, of which one runs
/// at a time, or the simulation does; who comes next depends on nothing but what has happened. So all is as if there were one thread.

namespace random_cluster {

namespace net = tenon::net;

/// Thrown by what a program calls when its process was killed: it ends.
struct process_killed {};

class actors {
public:
    explicit actors(net::simulated_network& n);
    /// Kills those that run.
    ~actors();
    actors(actors&&) = delete;

    /// Begins a program on this host, as a process of it: it runs when the simulation next calls run_ready().
    std::size_t start(const std::string& host, std::function<void(net::transport&)> program);
    /// Its process is killed; its program ends before this returns. Not from a program.
    void kill(std::size_t which, bool silently);
    /// It waits, also for what is there, until told otherwise; the host is paused by whoever calls.
    void pause(std::size_t which, bool paused);
    bool has_ended(std::size_t which) const;
    bool all_have_ended() const;
    /// What the simulation called has waited, which would be for itself: a thread of the transport's may not.
    bool has_waited_in_callback() const { return has_waited_in_callback_; }
    /// Lets those go on that have what they wait for, in turn, until none has. To be called whenever something has happened.
    void run_ready();

private:
    struct actor;
    void resume(actor& a);
    void park(actor& a, tenon::function_ref<bool()> done, net::time_point limit);

    net::simulated_network& net_;
    std::mutex guard_; // of what follows, and of the actors
    std::condition_variable changed_;
    const actor* running_ = nullptr; // nullptr: the simulation runs
    std::vector<std::unique_ptr<actor>> all_;
    bool has_waited_in_callback_ = false;
};

} // namespace random_cluster
