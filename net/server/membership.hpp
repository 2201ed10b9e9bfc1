#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <net/transport/transport.hpp>

/// Who takes part in a run, as a task sees it that holds variables: it ends when the last of them has.

namespace tenon::net {

/// How long a task that holds variables goes on.
struct membership_limits {
    duration to_come;         ///< from its begin, for those that are expected
    duration to_return;       ///< from when one was lost, for it to come again
    bool until_asked = false; ///< as long as nobody asks it to stop
};

/// Thread-safe.
class membership {
public:
    using log_function = std::function<void(const std::string& line)>;
    /// Its clock outlives it. `expected`: their names. A line is told of each that comes, ends or is lost.
    membership(const time_source& t, std::vector<std::string> expected, log_function log);

    void came(const std::string& task, std::uint64_t incarnation);
    void left(const std::string& task, std::uint64_t incarnation, int status);
    /// Its link is dead; nothing where it had left, or is there again.
    void lost(const std::string& task, std::uint64_t incarnation, const std::string& why);
    /// No more than so much time is given to those that are there, none to the others.
    void ask_to_stop(duration grace);

    /// Waits until all have ended, those that are lost or never came counted as such once their time is over, or until the time is over
    /// that ask_to_stop gave. The status of the first that failed, else 0: of who was lost, or never came, 137. Throws
    /// deadline_exceeded_error, with their names, where nobody has ever come.
    int wait_until_over(const membership_limits& limits);

private:
    struct entry {
        std::uint64_t incarnation = 0; // 0: it never came
        bool is_here = false;
        std::optional<int> status;
        time_point since; // of its end, or loss
    };
    // Since when it has been known, and with which status the run ends; nothing: it is not over. The lock is held.
    struct verdict {
        time_point next = time_point::max(); // when to look again
        bool over = true;
        int status = 0;
    };
    verdict look(const membership_limits& limits) const;
    std::string missing() const;
    void tell(const std::string& line) const {
        if (log_) log_(line);
    }

    const time_source& clock_;
    const log_function log_;
    const time_point began_;
    mutable std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::map<std::string, entry> tasks_;
    std::optional<time_point> stop_at_;
};

} // namespace tenon::net
