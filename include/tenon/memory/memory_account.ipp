#pragma once

#include <algorithm>

#include <tenon/memory/memory_account.hpp>

namespace tenon {

TENON_INLINE std::string memory_account::refusal(std::size_t bytes, std::size_t variables) const {
    return std::to_string(bytes) + " bytes are too many: of the " + std::to_string(limit_) +
           " that may be used (session_options::memory_limit), variables hold " + std::to_string(variables) +
           " and steps " + std::to_string(taken() - variables);
}

TENON_INLINE void keep_largest(std::vector<memory_holder>& holders) {
    std::sort(holders.rbegin(), holders.rend());
    if (holders.size() > 8) holders.resize(8);
}

TENON_INLINE std::string largest_holders(std::vector<memory_holder> holders) {
    keep_largest(holders);
    std::string text;
    for (const auto& [bytes, what] : holders) text += "\n  " + std::to_string(bytes) + " bytes: " + what;
    return text;
}

} // namespace tenon
