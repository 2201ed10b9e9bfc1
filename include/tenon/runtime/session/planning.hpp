#pragma once

#include <algorithm>

#include <tenon/runtime/body/plan_body.hpp>
#include <tenon/runtime/session/options.hpp>

/// What a session's options mean to the planner, wherever a step is planned.

namespace tenon::runtime {

/// On `threads` threads. `measure`: so that its nodes can be timed. The node that made the first NaN has a name of its own, and each
/// node a time, only while it runs alone.
inline plan_options planning_of(const session_options& s, int threads, bool measure) {
    plan_options o;
    o.threads = threads;
    o.side_by_side = measure ? 1 : s.inter_op_threads ? std::min(s.inter_op_threads, threads) : threads;
    o.fold = s.fold_constants && !s.check_numerics && !measure;
    o.fuse = s.fuse && !s.check_numerics && !measure;
    o.measure = measure;
    o.check_numerics = s.check_numerics;
    o.kept_segments = s.kept_plans;
    o.wire_type = s.wire_type;
    o.allow_tf32 = s.allow_tf32;
    o.plan_body = &plan_body;
    return o;
}

} // namespace tenon::runtime
