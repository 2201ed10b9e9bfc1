#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <net/rpc/peer.hpp>
#include <net/wire/calls.hpp>
#include <tenon/memory/memory_budget.hpp>
#include <tenon/resources/rendezvous.hpp>

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

/// Where large values are received in the steps of a part: each edge has memory of its own, which is read into where no step before, and
/// no connection that was lost, has it any more. Thread-safe.
class received_memory {
public:
    /// From here on this edge has; or has none again: what is received by it is kept.
    void plan(std::int64_t edge);
    void leave(std::int64_t edge);
    /// Memory of this type, or an empty array: the value is small, or the edge has none, or somebody still uses it.
    any_array place(std::int64_t edge, const tensor_type& type);
    /// Gives back what nobody uses; false where there is none, or it is just being asked for some.
    bool give_back() noexcept;

private:
    std::mutex guard_; // of what follows
    std::map<std::int64_t, any_array> kept_;
};

/// The edges of a part's steps.
struct step_edges {
    explicit step_edges(std::size_t count) : to(count, -1) {}
    std::vector<int> to; ///< by edge: the task that what is sent by it goes to, by session_tasks; -1: it stays here
    std::size_t arriving = 0; ///< edges of which others send something
    received_memory memory;
};

/// Where the parts of one step meet on this task: what they send to others goes there by link, what others send arrives. What is
/// sent to one task between two flushes goes in as few small messages as it fits in, and ahead of what is large, which goes by
/// itself, in the order of the edges: that in which they are first read there. Thread-safe.
class task_rendezvous final : public rendezvous {
public:
    task_rendezvous(std::shared_ptr<const session_tasks> s, std::uint64_t step, std::shared_ptr<step_edges> edges);
    void send(std::int64_t edge, any_array value) override;
    void flush(bool all) override;
    void receive(std::int64_t edge, arrival& a) override { here_.receive(edge, a); }
    bool stop(std::int64_t edge, arrival& a) noexcept override { return here_.stop(edge, a); }
    /// Where a value that comes from another task belongs; as of received_memory.
    any_array place(std::int64_t edge, const tensor_type& type);
    /// From another task: an edge that is none, or has brought its value already, is left out.
    void arrived(edge_value&& v);
    /// All that others send has arrived.
    bool has_all();

private:
    struct outgoing {
        int task = -1;
        std::vector<edge_value> values;
        std::size_t size = 0; // of them, about, in messages
    };
    void post(outgoing&& to) const;

    const std::shared_ptr<const session_tasks> session_;
    const std::uint64_t step_;
    const std::shared_ptr<step_edges> edges_;
    local_rendezvous here_;
    std::mutex guard_; // of what follows
    std::vector<bool> arrived_;
    std::size_t awaited_;        // edges of which nothing has
    std::vector<outgoing> kept_; // until the next flush
};

/// The meetings of a task. Values may come before their step does, which is a message of its own: they are kept, up to a number of
/// bytes for each session; a step for which there are more fails when it comes. Thread-safe.
class exchange {
public:
    explicit exchange(std::size_t early_bytes) : early_limit_(early_bytes) {}

    /// What arrives for it is taken in this client's name.
    void begin_session(std::uint64_t session, std::shared_ptr<memory_client> memory = nullptr);
    /// What is there for it is dropped.
    void end_session(std::uint64_t session) noexcept;
    std::shared_ptr<task_rendezvous> open(std::shared_ptr<const session_tasks> s, std::uint64_t step,
                                          std::shared_ptr<step_edges> edges);
    /// The step has ended: what arrives for it from here on is dropped.
    void close(std::uint64_t session, std::uint64_t step) noexcept;
    void arrived(step_values&& v);
    /// Memory for the one array beside the body of a step_values note whose step is open here, or an empty one. Throws
    /// resource_exhausted_error where its session's client may have no more.
    any_array place_for(const bytes& body, const tensor_type& type);
    /// The values of this note were not taken: its step fails when it comes. False where it is here, or has ended.
    bool refuse(std::uint64_t session, std::uint64_t step, const std::string& why);

    /// What it holds.
    struct counts {
        std::size_t sessions = 0, open = 0;
        std::size_t early_bytes = 0;
    };
    counts count() const;

private:
    // The last so many that were noted.
    class recent_steps {
    public:
        explicit recent_steps(std::size_t most) : most_(most) {}
        void note(std::uint64_t step) noexcept;
        bool has(std::uint64_t step) const { return steps_.contains(step); }

    private:
        std::size_t most_;
        std::set<std::uint64_t> steps_;
        std::deque<std::uint64_t> in_order_;
    };
    struct session_state {
        std::shared_ptr<memory_client> memory;
        std::map<std::uint64_t, std::shared_ptr<task_rendezvous>> open;
        std::map<std::uint64_t, std::vector<edge_value>> early;
        std::size_t early_bytes = 0;
        std::map<std::uint64_t, std::string> refused; // that have not come, and why their values were not kept
        // Of late: what is sent to them may still come; of the first once more, over a new link. As many as steps may be under way.
        recent_steps ended{1024}, ended_without{65536};

        std::vector<edge_value> take_early(std::uint64_t step) noexcept;
        bool has_ended(std::uint64_t step) const { return ended.has(step) || ended_without.has(step); }
    };
    const std::size_t early_limit_;
    mutable std::mutex guard_; // of what follows
    std::map<std::uint64_t, session_state> sessions_;
};

} // namespace tenon::net
