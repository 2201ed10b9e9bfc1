#pragma once

#include <tenon/train/session/coordinator.hpp>
#include <tenon/train/session/queue_runner.hpp>

#include "own_graph.hpp"

/// A session whose graph's queue runners run; when it ends they are stopped.
struct running_session : tenon::session {
    explicit running_session(const tenon::graph& g, const tenon::session_options& o = {.operation_timeout = 60}) :
        session(g, o), started(tenon::start_queue_runners(*this, coord)) {}
    tenon::coordinator coord;
    const int started; ///< threads
};
