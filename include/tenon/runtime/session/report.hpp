#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/runtime/run/recording_counts.hpp>

/// What sessions and their steps take.

namespace tenon {

/// What a session keeps between runs.
struct session_statistics {
    int threads = 1;                ///< of its pool, the caller's included
    int plans = 0;                  ///< kept for further steps (session_options::kept_plans)
    std::size_t plan_bytes = 0;     ///< memory of their steps
    std::size_t variable_bytes = 0; ///< of all variables
};

/// What a step takes of one device.
struct device_report {
    std::string device;             ///< "/device:GPU:0"; of a session of several tasks with job and task
    std::size_t peak_bytes = 0;     ///< of values between nodes, of constants, and of what is fetched
    std::size_t arena_bytes = 0;    ///< of values between nodes
    std::size_t lower_bound = 0;    ///< the largest set of those that lives at one time
    std::size_t variable_bytes = 0; ///< of all variables of the session there: comes on top of peak_bytes
};

/// What a step will do and take, known before it runs; and what has become of its recordings in the runs so far.
struct step_report {
    int nodes = 0;                  ///< kernels that run
    int folded = 0;                 ///< nodes computed once, when the step was planned
    int fused = 0;                  ///< nodes that run as part of another
    int transfers = 0;              ///< tensors that cross from one device to another
    std::size_t peak_bytes = 0;     ///< of values between nodes, and of what is fetched; without variables
    std::size_t arena_bytes = 0;    ///< of values between nodes
    std::size_t lower_bound = 0;    ///< the largest set of those that lives at one time
    std::size_t variable_bytes = 0; ///< of all variables of the session: comes on top of peak_bytes
    recording_counts recordings;    ///< of a task of another process as of the last step that has ended there
    std::vector<device_report> devices;
    std::vector<std::string> order; ///< "name (op)"
};

} // namespace tenon
