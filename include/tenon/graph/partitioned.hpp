#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

/// In how many parts a variable is (ops/shape/partition.hpp).

namespace tenon {

/// How a variable is parted along its first axis, so that its parts may lie on several tasks. At least one of `parts` and
/// `largest` is given; nothing has more parts than rows.
struct partitioned {
    /// So many parts; with `largest` or `smallest`, at most so many. 0: as many as `largest` asks for.
    int parts = 0;
    /// So many parts that none has more bytes than this, unless one row has.
    std::int64_t largest = 0;
    /// No part has fewer bytes than this: what is small stays whole.
    std::int64_t smallest = 0;

    /// How many parts these say for a variable of so many rows and bytes: 1 or more. Throws invalid_argument_error where they
    /// make no sense.
    std::int64_t count(std::int64_t rows, std::int64_t bytes) const;
    /// False where nothing is said: the variable is whole, or as the scopes around it say.
    bool says() const noexcept { return parts != 0 || largest != 0 || smallest != 0; }
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/graph/partitioned.ipp>
#endif
