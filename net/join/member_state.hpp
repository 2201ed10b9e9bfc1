#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <net/launch/rendezvous/rendezvous.hpp>
#include <net/launch/run_files.hpp>
#include <net/server/membership.hpp>
#include <tenon/net/join.hpp>
#include <tenon/train/session/stop_signal.hpp>

/// What a process that has joined a run has.

namespace tenon::net {

/// Owned by the process: it lives until that ends, and has the others know how. Written by join() alone, but for what says otherwise.
struct member::state {
    cluster_source place;
    std::string device;
    std::vector<std::pair<std::string, int>>
        holders;        ///< those that hold variables: the parameter servers, or the first task
    bool holds = false; ///< it is one of them
    membership_limits limits;
    duration grace{};
    duration timeout{};
    std::function<void(const std::string& line)> log;
    pid_t process = 0;
    // Of rank 0: others may come again to the places that they had.
    std::shared_ptr<transport> over;
    std::unique_ptr<rendezvous_part> open;
    std::optional<noted_run> noted;
    std::optional<tenon::server> own;
    std::atomic<bool> is_over{false}; ///< of who holds: all others have ended. Any thread

    /// Finds the place of this process, meets the others, and serves.
    void begin(const cluster_flags& flags, join_options options);
    /// Has the others know that this process is there, and how it ends.
    void attend();
    /// Waits for those that train; the status of the first that failed.
    int wait_for_others(bool until_asked);
    /// The process ends with this status.
    void leave(int status) noexcept;
};

} // namespace tenon::net
