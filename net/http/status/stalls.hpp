#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <net/wire/rows.hpp>

/// Which waits look as if they would not end: for a task that is silent, and for a queue that is empty or full.

namespace tenon::net {

struct stall {
    std::string task; ///< where it waits
    std::uint64_t session = 0, step = 0;
    std::string
        what; ///< "tensor w from /job:ps/task:1/device:CPU:0 to ...", "queue \"jobs\" to have 1 element; it has 0"
    std::string from;    ///< the task that is silent; empty: it waits for a queue
    double seconds = 0;  ///< since when
    double silence = -1; ///< seconds since `from` was last heard of; -1: never
    std::string words;   ///< a sentence
};

/// The task that what a step receives is to come from, "/job:ps/task:1", of wait_row::what; empty where it is from none.
std::string awaited_task(const std::string& what);

/// Of what tasks say of themselves, those that wait for `patience` seconds at least, the longest first. A task is silent when it did not
/// answer, or who waits has not heard of it for as long. For a session waits for one task are one.
std::vector<stall> stalls_of(const std::vector<task_row>& tasks, double patience = 3);

} // namespace tenon::net
