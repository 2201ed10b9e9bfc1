#pragma once

#include <cstdlib>
#include <string_view>

/// What a person asks of this library by environment variables, to compare or to test.

namespace tenon::cuda {

/// Whether the variable is set to the word: read each time, when kernels are prepared.
inline bool is_wished(const char* variable, std::string_view word) {
    const char* const wish = std::getenv(variable);
    return wish && wish == word;
}

} // namespace tenon::cuda
