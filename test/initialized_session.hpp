#pragma once

#include <vector>

#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/session/session.hpp>

/// A session whose variables have their initial values.
struct initialized_session : tenon::session {
    explicit initialized_session(const tenon::session_options& o = {}) : session(o) { initialize(); }
    explicit initialized_session(const tenon::graph& g, const tenon::session_options& o = {}) : session(g, o) {
        initialize();
    }
    /// Of a task, of several, or of a server's address.
    template <class From = std::vector<tenon::task>>
    initialized_session(const From& from, const tenon::graph& g, const tenon::session_options& o = {}) :
        session(from, g, o) {
        initialize();
    }

private:
    void initialize() { run(tenon::initialize_variables()); }
};
