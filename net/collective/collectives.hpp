#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <net/collective/exchange_group.hpp>
#include <net/rpc/service.hpp>
#include <net/worker/peers.hpp>

/// The groups of processes that a server's task is in: by its links to the other tasks.

namespace tenon::net {

/// Thread-safe. Held by handles on groups, too, which may outlive the server.
class collectives : public std::enable_shared_from_this<collectives> {
public:
    /// `t` and `others` outlive stop().
    collectives(transport& t, cluster c, identity self, link_options link, peers& others) :
        transport_(t), cluster_(std::move(c)), self_(std::move(self)), link_(link), others_(others) {}

    /// The tasks of these jobs, in this order, as a group of this name; without jobs, those of this task's own. Waits until all are
    /// reached, so many seconds at most: deadline_exceeded_error names those that are not. The group is left when the last handle goes.
    /// invalid_argument_error where this task is none of them, already_exists_error where the process has a group of that name.
    std::shared_ptr<collective_group> make(const std::vector<std::string>& jobs, const std::string& name,
                                           double seconds);

    // What comes from another task.
    /// What another member says.
    void noted(const link_peer& from, verb which, message&& m) noexcept;
    any_array place_for(const link_peer& from, const bytes& body, const tensor_type& type);
    void task_lost(const std::string& task, std::uint64_t incarnation, const std::string& why) noexcept;
    /// Leaves all groups, in so many seconds at most; no other is made.
    void stop(double seconds) noexcept;

private:
    struct member {
        std::string name; ///< "/job:worker/task:1"
        std::uint64_t incarnation = 0;
    };
    struct entered {
        std::shared_ptr<exchange_group> group;
        std::vector<member> members; // by rank
        int rank_of(const std::string& task, std::uint64_t incarnation) const;
    };
    struct early_note {
        member from;
        verb which{};
        message m;
    };
    void give(const entered& to, int from, verb which, message&& m) noexcept;
    void forget(std::uint64_t number) noexcept;

    transport& transport_;
    const cluster cluster_;
    const identity self_;
    const link_options link_;
    peers& others_;
    std::mutex guard_; // of what follows
    std::map<std::uint64_t, entered> groups_;
    std::map<std::string, int> made_; // by jobs: how many there were
    std::map<std::uint64_t, std::vector<early_note>> early_;
    std::size_t early_bytes_ = 0;
    bool stopped_ = false;
};

} // namespace tenon::net
