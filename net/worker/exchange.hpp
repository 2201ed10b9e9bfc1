#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <net/link/peer.hpp>
#include <net/wire/calls.hpp>
#include <tenon/kernel/rendezvous.hpp>

/// Values that go from task to task within steps.

namespace tenon::net {

/// The tasks of a session, by its numbers for them.
struct session_tasks {
    struct task {
        std::string name;         ///< "/job:ps/task:0"
        std::shared_ptr<peer> at; ///< nullptr: it is this one
        std::uint64_t incarnation = 0;
    };
    std::uint64_t session = 0;
    std::vector<task> tasks;
};

/// By edge: the task that what is sent by it goes to, by session_tasks; -1: it stays here.
using edge_routes = std::vector<int>;

/// Where the parts of one step meet on this task: what they send to others goes there by link, what others send arrives. What is
/// sent to one task between two flushes goes in as few small messages as it fits in, and ahead of what is large, which goes by
/// itself, in the order of the edges: that in which they are first read there. Thread-safe.
class step_meeting final : public rendezvous {
public:
    step_meeting(std::shared_ptr<const session_tasks> s, std::uint64_t step, std::shared_ptr<const edge_routes> routes);
    void send(std::int64_t edge, any_array value) override;
    void flush(bool all) override;
    void receive(std::int64_t edge, arrival& a) override { here_.receive(edge, a); }
    bool stop(std::int64_t edge, arrival& a) noexcept override { return here_.stop(edge, a); }
    /// From another task: an edge that is none, or has brought its value already, is left out.
    void arrived(edge_value&& v);

private:
    struct outgoing {
        int task = -1;
        std::vector<edge_value> values;
        std::size_t size = 0; // of them, about, in messages
    };
    void post(outgoing&& to) const;

    const std::shared_ptr<const session_tasks> session_;
    const std::uint64_t step_;
    const std::shared_ptr<const edge_routes> routes_;
    local_rendezvous here_;
    std::mutex guard_; // of what follows
    std::vector<bool> arrived_;
    std::vector<outgoing> kept_; // until the next flush
};

/// The meetings of a task. Values may come before their step does, which is a message of its own: they are kept, up to a number of
/// bytes for each session. Thread-safe.
class exchange {
public:
    explicit exchange(std::size_t early_bytes) : early_limit_(early_bytes) {}

    void begin_session(std::uint64_t session);
    /// What is there for it is dropped.
    void end_session(std::uint64_t session) noexcept;
    std::shared_ptr<step_meeting> open(std::shared_ptr<const session_tasks> s, std::uint64_t step,
                                       std::shared_ptr<const edge_routes> routes);
    /// The step has ended: what arrives for it from here on is dropped.
    void close(std::uint64_t session, std::uint64_t step) noexcept;
    void arrived(step_values&& v);

private:
    struct session_state {
        std::map<std::uint64_t, std::shared_ptr<step_meeting>> open;
        std::map<std::uint64_t, std::vector<edge_value>> early;
        std::size_t early_bytes = 0;
        std::set<std::uint64_t> ended; // of late: what is sent to them may still come
        std::deque<std::uint64_t> in_order;
    };
    const std::size_t early_limit_;
    std::mutex guard_; // of what follows
    std::map<std::uint64_t, session_state> sessions_;
};

} // namespace tenon::net
