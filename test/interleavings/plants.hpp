#pragma once

#include <map>
#include <string>

namespace interleavings {

/// What is wrong on purpose, so that it is seen that orders find it, by name. Each tells what has come of it in the order that is
/// drawn; "" where nothing was seen.
const std::map<std::string, std::string (*)()>& plants();

} // namespace interleavings
