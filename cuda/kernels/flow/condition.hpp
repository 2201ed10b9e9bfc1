#pragma once

#include <cstdint>

#include <driver_types.h>

/// What decides, on the device, which parts of a graph run.

namespace tenon::cuda {

struct watched_flag {
    const bool* flag;
    std::int64_t* count = nullptr; ///< where there is one: 1 is added when the flag is true
    const std::uint32_t* end =
        nullptr; ///< where there is one, with a count: what the host writes, not 0 where the flag is to count as false
};

/// Gives the stream, which records: the condition's value is that of the flag. `end` is the host's memory: it is read once in 8 counts.
void set_condition(cudaGraphConditionalHandle condition, const watched_flag& by, void* stream);

} // namespace tenon::cuda
