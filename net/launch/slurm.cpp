// Slurm: srun tells each process its number and the names of all hosts.
//
//   SLURM_JOB_ID, SLURM_STEP_ID, SLURM_PROCID, SLURM_LOCALID
//   SLURM_STEP_NUM_TASKS, else SLURM_NTASKS, SLURM_NPROCS
//   SLURM_STEP_NODELIST, else SLURM_JOB_NODELIST, SLURM_NODELIST; SLURMD_NODENAME: this process's
//   SLURM_SUBMIT_DIR: nearly always a folder that all hosts see
//
// Ports are not Slurm's to give, and other jobs run on the same hosts: the processes meet, and tell each other theirs.

#include <net/launch/launchers.hpp>
#include <net/launch/node_list.hpp>

namespace tenon::net {

sighting see_slurm(const settings& s) {
    const auto rank = s.variable("SLURM_PROCID");
    const auto step = s.first_of({"SLURM_STEP_ID", "SLURM_STEPID"});
    // Steps that srun did not start, such as that of a batch script, have no number or one of ten digits.
    if (rank && step && step->value.size() < 10) return {rank->text(), ""};
    if (const auto job = s.first_of({"SLURM_JOB_ID", "SLURM_JOBID"}))
        return {job->text(), "this process was not started by srun, so it is none of several"};
    return {};
}

ranked_process read_slurm(const settings& s) {
    const std::string because =
        "srun sets it beside SLURM_PROCID: start the program with srun, or set TENON_LAUNCHER=none";
    auto size = s.first_of({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
    if (!size) size = s.needed("SLURM_STEP_NUM_TASKS", because);

    ranked_process p{.size = size->number(1, most_ranks, "the number of a step's tasks"), .size_from = size->name};
    const named_value rank = s.needed("SLURM_PROCID", because);
    p.rank = rank.number(0, most_ranks, "a task's number");
    if (p.rank >= p.size)
        rank.refuse("there are only " + std::to_string(p.size) + " tasks, by " + size->text() +
                    "; start the program with srun, so that both are of one step");

    auto list = s.first_of({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
    if (!list) list = s.needed("SLURM_STEP_NODELIST", because);
    const std::vector<std::string> hosts = expand_node_list(*list);
    p.one_host = hosts.size() == 1;
    if (const auto local = s.variable("SLURM_LOCALID"))
        p.of_host = local->number(0, most_ranks, "a task's number on its host");

    const auto job = s.first_of({"SLURM_JOB_ID", "SLURM_JOBID"});
    const auto step = s.first_of({"SLURM_STEP_ID", "SLURM_STEPID"});
    p.run = "slurm " + (job ? job->value : "?") + "." + (step ? step->value : "?");
    if (p.one_host) {
        meet_on_this_host(p);
        return p;
    }
    if (const auto own = s.variable("SLURMD_NODENAME")) p.host = own->value;
    if (const auto folder = s.variable("SLURM_SUBMIT_DIR"); folder && !s.has("TENON_TOKEN")) {
        // What only this user can read in a folder that all hosts see is a secret of the run.
        p.file = folder->value + "/.tenon-" + p.run.substr(p.run.find(' ') + 1);
        p.listen = {p.host + ":0"};
        p.how = "rank 0 serves on its host and writes its address into " + p.file +
                ", in the job's folder, which all hosts must see (TENON_TOKEN or TENON_RENDEZVOUS would do without)";
    } else {
        meet_at_ports_of_run(p, {hosts.front()}, hosts.front());
        p.how = "rank 0 serves on the first host of " + list->text() + ", on a port made of the job's number";
    }
    return p;
}

} // namespace tenon::net
