#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <net/link/gate.hpp>
#include <net/worker/peers.hpp>

/// A task's part in its run, as it tells it to those that hold variables: that it is there, and how it ends.

namespace tenon::net {

/// Thread-safe.
class registration {
public:
    /// Both outlive it. `holders`: job and index.
    registration(transport& t, peers& others, std::vector<std::pair<std::string, int>> holders);
    /// Tells nobody anything any more.
    ~registration();

    /// Returns when all of them know. Throws deadline_exceeded_error with those that were not there in time and why, and at once what
    /// one refused it for.
    void begin(duration limit);
    /// One of them is lost: it is told again when it is back.
    void lost(const std::string& task);
    /// Within this time, or never.
    void leave(int status, duration limit) noexcept;

private:
    void tell_again(const std::shared_ptr<peer>& to);

    transport& transport_;
    const std::shared_ptr<gate> to_self_;                  // calls may outlive this
    std::map<std::string, std::shared_ptr<peer>> holders_; // by name; not changed
};

} // namespace tenon::net
