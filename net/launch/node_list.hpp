#pragma once

#include <string>
#include <vector>

#include <net/client/settings.hpp>

/// Slurm's way of writing many names in short.

namespace tenon::net {

inline constexpr std::size_t most_nodes = 65536;

/// "a[1-3,07-09],b5" => a1 a2 a3 a07 a08 a09 b5. A name may have several groups: "r[1-2]n[1-2]" => r1n1 r1n2 r2n1 r2n2. A number is
/// as wide as the first of its range. Throws invalid_argument_error that shows the place.
std::vector<std::string> expand_node_list(const named_value& list);

} // namespace tenon::net
