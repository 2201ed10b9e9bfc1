#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/config.hpp>

namespace tenon {

/// What ran, from when to when, in nanoseconds of this process's steady clock.
struct trace_event {
    std::string name{}, op{}; ///< a node's, of what a step ran
    /// A device ("GPU:0"), one of its threads ("CPU:0 thread 1"), a link between two ("CPU:0 to GPU:0"): what is in one of these ran
    /// one after another. Or what waits there ("CPU:0 waits"): any number at a time.
    std::string row{};
    std::string task{}; ///< "/job:ps/task:0"; empty: this program itself
    std::int64_t begin = 0, end = 0;
    /// Of a value that goes from one task to another: an event sends it, another one of the same step and edge receives it.
    enum class way : std::uint8_t { none, send, receive };
    way goes = way::none;
    std::uint64_t step = 0; ///< a number that no other step of the trace has
    std::int64_t edge = -1; ///< of those of the step
    std::uint64_t bytes = 0;
};

} // namespace tenon
