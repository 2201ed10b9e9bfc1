#pragma once

#include <string>
#include <vector>

#include <tenon/runtime/session/session.hpp>

/// The sessions that must all give the same.

namespace random_graphs {

struct session_kind {
    std::string name;
    tenon::session_options options = {};
    bool measure = false;    ///< session::set_measurements
    bool trace = false;      ///< session::set_trace
    bool callable = false;   ///< steps are callables where they can be
    bool started = false;    ///< and are started, to run on the pool's threads
    bool by_costs = false;   ///< placed by what a session before it measured
    bool placed = false;     ///< nodes ask for devices at random, the same for the same name
    int tasks = 0;           ///< on so many tasks of this process; 0: of its own
    bool by_wire = false;    ///< its graph and the parts of its steps are read from bytes (wire_session); on two tasks
    std::string target = {}; ///< of a server of a simulated cluster; on two tasks
    bool on_gpu = false;     ///< on real GPUs, or emulated ones
    bool written = false; ///< on the graph as it was made in memory, where there is one, not as it was read from JSON
};

std::vector<session_kind> every_session();

} // namespace random_graphs
