#pragma once

#include <string>
#include <vector>

/// Ports for tasks that must know each other's before they begin.

namespace tenon::net {

/// Ports of this host on which nobody listens, all different. Throws unavailable_error.
std::vector<int> free_ports(const std::string& host, int count);

} // namespace tenon::net
