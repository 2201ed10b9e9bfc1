#pragma once

#include <optional>
#include <vector>

#include "random_graphs/program.hpp"

/// Steps that are ended before their time.

namespace random_graphs {

/// Runs a step in a session again and again, each time ended elsewhere: by a limit, or by who stops it. Where it cannot be
/// started as a callable, by a limit.
class cutter {
public:
    cutter(tenon::session& s, const reference::request& r, step::cut_short how);

    /// The error of what was ended so.
    tenon::error_code told() const {
        return stops_ ? tenon::error_code::cancelled : tenon::error_code::deadline_exceeded;
    }
    /// Where its n-th test_trip runs. `reached`: whether there is one.
    std::vector<tenon::any_array> in_place(int n, bool& reached);
    /// After so many seconds.
    std::vector<tenon::any_array> after(double seconds);

private:
    std::vector<tenon::any_array> run_for(double seconds);

    tenon::session& session_;
    const reference::request& request_;
    bool stops_;
    std::optional<tenon::untyped_callable> made_;
};

} // namespace random_graphs
