#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenon/graph/cluster.hpp>

/// What `tenon launch` is to start.

namespace tenon::command {

struct launch_options {
    int ps = 0;
    int workers = 1;
    std::string host = "127.0.0.1";  ///< in the tasks' addresses
    int port_base = 0;               ///< of the first task, the next ones following; 0: ports that are free
    std::optional<std::string> gpus; ///< "0,1,3" or "none"; else those that the machine has
    std::string ps_command;          ///< what parameter servers run; empty: this command's `serve`
    bool ps_run_program = false;     ///< they run the program too
    int ps_restarts = 0;             ///< how often each parameter server that ended is started again
    double grace = 30;               ///< seconds for tasks to end that were asked to
    bool verbose = false;
    std::vector<std::string> program;
};

/// One task's process.
struct task_plan {
    std::string job;
    int task = 0;
    std::vector<std::string> arguments;           ///< the program's name first
    std::map<std::string, std::string> variables; ///< beside those of this process, or instead of them

    std::string name() const { return job + " " + std::to_string(task); }
};

/// Parameter servers first. `ports` has one for each task. Workers get their share of `gpus`, parameter servers none; where there
/// are no GPUs the workers' variables say nothing of them. Throws invalid_argument_error.
std::vector<task_plan> plan_launch(const launch_options& options, const std::string& self,
                                   const std::vector<int>& ports, const std::vector<std::string>& gpus);

/// Deals GPUs out: each worker has as many as the others, or one more; where there are fewer GPUs than workers, some share one.
std::vector<std::vector<std::string>> deal_gpus(const std::vector<std::string>& gpus, int workers);

/// "0,GPU-5f,2" => its parts; "" and "none" => none; what follows "-1" does not count, as CUDA has it.
std::vector<std::string> read_gpus(const std::string& list);

/// The GPUs of this machine: those of CUDA_VISIBLE_DEVICES where it is set, else those that the driver shows in
/// /proc/driver/nvidia/gpus.
std::vector<std::string> gpus_of_machine();

} // namespace tenon::command
