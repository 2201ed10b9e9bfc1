#pragma once

#include <vector>

#include <tenon/runtime/plan/program.hpp>

/// A placed program, cut by the tasks of its devices.

namespace tenon::runtime {

/// Which devices are on one task.
struct task_devices {
    std::vector<int> devices; ///< by the task's own number: the program's
};

/// What is sent and received in a step, once: by which tasks.
struct task_edge {
    int from, to;
    bool fetched = false; ///< what arrives is handed out as it is
};

struct task_programs {
    std::vector<program> programs; ///< by task; devices are the task's own. The first is fed and fetched
    std::vector<task_edge> edges;  ///< by their number
};

/// Each has what runs on its task, and ops that send and receive in place of the edges between tasks: each value crosses to
/// a task once, however many read it there. What is made to run after something on another task receives a sign of that.
task_programs cut_by_task(const program& p, const std::vector<task_devices>& tasks, const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/task_programs.ipp>
#endif
