#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <net/http/status/facts.hpp>

/// What the tasks of a cluster say of themselves, asked no more often than it changes for who looks.

namespace tenon::net {

/// Many may look at once: the tasks are asked for all of them together. So nobody waits for a task that is silent, but the first.
class cluster_view {
public:
    using clock = std::chrono::steady_clock;
    struct seen {
        clock::time_point at; ///< they were asked
        std::vector<task_row> rows;
    };

    /// `came` is called by any thread when there is something new to look at, also after this has ended.
    cluster_view(http_facts& of, std::function<void()> came);

    /// What was seen last; nullptr where that is long ago. Sees to it that it does not stay so.
    std::shared_ptr<const seen> look();

private:
    struct state {
        std::function<void()> came;
        std::mutex guard; // of what follows
        std::shared_ptr<const seen> last;
        bool is_asking = false;
    };

    http_facts& of_;
    const std::shared_ptr<state> state_;
};

} // namespace tenon::net
