#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <net/command/child.hpp>
#include <tenon/cluster/cluster.hpp>

/// What `tenon launch` is to start.

namespace tenon::command {

struct launch_options {
    int ps = 0;
    int workers = 1;
    std::string host = "127.0.0.1";       ///< in the tasks' addresses
    int port_base = 0;                    ///< of the first task, the next ones following; 0: ports that are free
    std::optional<std::string> gpus = {}; ///< "0,1,3" or "none"; else those that the machine has
    std::string ps_command = {};          ///< what parameter servers run; empty: this command's `serve`
    bool ps_run_program = false;          ///< they run the program too
    int ps_restarts = 0;                  ///< how often each parameter server that ended is started again
    int worker_restarts = 0;              ///< how often each worker that failed is
    double grace = 30;                    ///< seconds for tasks to end that were asked to
    bool verbose = false;
    std::vector<std::string> program = {};

    // Tasks on other hosts, by ssh; host and its ports that are free are for one machine then.
    std::string hosts = {};                       ///< "a,ada@b,c=10.0.0.3"; empty: all on this machine
    std::string ps_hosts = {}, worker_hosts = {}; ///< of these jobs, instead of hosts
    std::string ssh = "ssh -o BatchMode=yes";     ///< the command, as a shell reads it
    std::string workdir = {};          ///< where tasks run; empty: in the folder that is this process's, or at home
    std::vector<std::string> env = {}; ///< variables of this process that they have too
    std::string remote_tenon = {};     ///< this command there; empty: where it is here
    bool insecure = false;             ///< plain connections between the hosts
};

/// One task's process.
struct task_plan {
    std::string job;
    int task = 0;
    std::vector<std::string> arguments = {};           ///< the program's name first
    std::map<std::string, std::string> variables = {}; ///< beside those of this process, or instead of them
    std::string login = {};                ///< the host that it is for, as ssh knows it; empty: this machine
    std::optional<child_input> input = {}; ///< of its standard input; none: it has none

    std::string name() const { return job + " " + std::to_string(task); }
};

/// Parameter servers first. `ports` has one for each task. Workers get their share of `gpus`, parameter servers none; where there
/// are no GPUs the workers' variables say nothing of them. Throws invalid_argument_error.
std::vector<task_plan> plan_launch(const launch_options& options, const std::string& self,
                                   const std::vector<int>& ports, const std::vector<std::string>& gpus);

/// The same over options.hosts: dealt out in turn, parameter servers first. They meet by rank, rank 0 at `port` of its host, and serve on the
/// ports behind --port-base, or on any. Of GPUs nothing is said but what --gpus says, of each host.
std::vector<task_plan> plan_on_hosts(const launch_options& options, const std::string& self, int port);
/// By which names the hosts reach each other, each once.
std::vector<std::string> addresses_of_hosts(const launch_options& options);

/// Deals GPUs out: each worker has as many as the others, or one more; where there are fewer GPUs than workers, some share one.
std::vector<std::vector<std::string>> deal_gpus(const std::vector<std::string>& gpus, int workers);

/// "0,GPU-5f,2" => its parts; "" and "none" => none; what follows "-1" does not count, as CUDA has it.
std::vector<std::string> read_gpus(const std::string& list);

/// The GPUs of this machine: those of CUDA_VISIBLE_DEVICES where it is set, else those that the driver shows in
/// /proc/driver/nvidia/gpus.
std::vector<std::string> gpus_of_machine();

} // namespace tenon::command
