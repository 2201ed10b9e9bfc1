#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/config.hpp>

namespace tenon {

/// How often a node has run, of those whose random numbers depend on that (ops/random/random.hpp).
struct run_count {
    std::string node;
    std::uint64_t runs = 0; ///< of its session, and of those that this one goes on from
    friend bool operator==(const run_count&, const run_count&) = default;
};

} // namespace tenon
