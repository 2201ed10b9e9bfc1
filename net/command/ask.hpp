#pragma once

#include <string>
#include <vector>

/// What the command asks of servers that run: tenon status, devices, reset, stop.

namespace tenon::command {

struct cluster_status {
    std::string text;     ///< for a terminal: names and descriptions are printable(); or JSON
    bool is_whole = true; ///< every task that was asked for has answered
};
/// What the cluster's tasks say of themselves: devices and their memory, sessions, variables with sizes and updates, and what each
/// running step waits for. `target` is "tenon://host:port" or "host:port", of any of its tasks. Tasks that do not answer are named
/// with the reason. Throws unavailable_error where that one does not. Here and below.
cluster_status status_of(const std::string& target, bool all_tasks, double seconds, bool as_json = false);
/// A line a device.
std::string devices_text(const std::string& target, double seconds);
void reset(const std::string& target, const std::vector<std::string>& containers, double seconds);
void stop(const std::string& target, bool all_tasks, double grace, double seconds);

} // namespace tenon::command
