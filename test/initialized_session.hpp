#pragma once

#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/session/session.hpp>

/// A session whose variables have their initial values.
struct initialized_session : tenon::session {
    explicit initialized_session(const tenon::session_options& o = {}) : session(o) { initialize(); }
    explicit initialized_session(const tenon::graph& g, const tenon::session_options& o = {}) : session(g, o) {
        initialize();
    }

private:
    void initialize() { run(tenon::initialize_variables()); }
};
