// Slurm: srun tells each process its number and the names of all hosts.
//
//   SLURM_STEP_ID, SLURM_PROCID, SLURM_LOCALID, SLURM_NODEID
//   SLURM_STEP_NUM_TASKS, else SLURM_NTASKS, SLURM_NPROCS
//   SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE, else SLURM_JOB_NODELIST (SLURM_NODELIST) and SLURM_TASKS_PER_NODE
//   SLURM_DISTRIBUTION, SLURM_DIST_PLANESIZE: which host each number is on

#include <net/launch/launchers.hpp>
#include <net/launch/node_list.hpp>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

// The host of each rank, by number: what "srun -m" says of nodes, up to its first colon.
std::vector<int> deal_to_nodes(const settings& s, const std::vector<int>& tasks, int size) {
    const auto given = s.variable("SLURM_DISTRIBUTION");
    const std::string of_nodes = given ? given->value.substr(0, given->value.find_first_of(":,")) : "block";
    int run = most_ranks; // how many follow each other on a host
    if (of_nodes == "cyclic") {
        run = 1;
    } else if (of_nodes == "plane" || of_nodes.starts_with("plane=")) {
        const auto plane = s.variable("SLURM_DIST_PLANESIZE");
        const named_value told =
            plane ? *plane : named_value{given->name, of_nodes.substr(std::min<std::size_t>(6, of_nodes.size()))};
        run = told.number(1, most_ranks, "the size of a plane");
    } else if (of_nodes != "block" && of_nodes != "*") {
        given->refuse(
            "which rank is on which host cannot be told from this; set TENON_RENDEZVOUS, or start with srun -m block");
    }
    std::vector<int> left = tasks, nodes;
    nodes.reserve(static_cast<std::size_t>(size));
    while (static_cast<int>(nodes.size()) < size)
        for (std::size_t node = 0; node < left.size(); ++node)
            for (int n = 0; n < run && left[node] > 0; ++n, --left[node]) nodes.push_back(static_cast<int>(node));
    return nodes;
}

} // namespace

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

    ranked_process p;
    p.size = size->number(1, most_ranks, "the number of a step's tasks");
    p.size_from = size->name;
    const named_value rank = s.needed("SLURM_PROCID", because);
    p.rank = rank.number(0, most_ranks, "a task's number");
    if (p.rank >= p.size)
        rank.refuse("there are only " + std::to_string(p.size) + " tasks, by " + size->text() +
                    "; start the program with srun, so that both are of one step");

    const bool of_step = s.has("SLURM_STEP_NODELIST") && s.has("SLURM_STEP_TASKS_PER_NODE");
    auto list = of_step ? s.variable("SLURM_STEP_NODELIST") : s.first_of({"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
    if (!list) list = s.needed("SLURM_STEP_NODELIST", because);
    const std::vector<std::string> hosts = expand_node_list(*list);

    std::vector<int> tasks(hosts.size(), 1);
    if (const auto counts = s.variable(of_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE")) {
        tasks = expand_tasks_per_node(*counts);
        long long sum = 0;
        for (const int n : tasks) sum += n;
        if (tasks.size() != hosts.size())
            counts->refuse("these are the tasks of " + std::to_string(tasks.size()) + " hosts, but " + list->text() +
                           " names " + std::to_string(hosts.size()) + "; set TENON_RENDEZVOUS instead");
        if (sum != p.size)
            counts->refuse("these are " + std::to_string(sum) + " tasks, but " + size->text() +
                           "; set TENON_RENDEZVOUS instead");
    } else if (static_cast<int>(hosts.size()) != p.size) {
        list->refuse("these are " + std::to_string(hosts.size()) + " hosts, but " + size->text() +
                     ", and SLURM_STEP_TASKS_PER_NODE does not say how many each has; set TENON_RENDEZVOUS");
    }

    const std::vector<int> nodes = deal_to_nodes(s, tasks, p.size);
    p.one_host = hosts.size() == 1;
    std::vector<int> placed(hosts.size());
    for (int r = 0; r < p.size; ++r) {
        const auto node = static_cast<std::size_t>(nodes[static_cast<std::size_t>(r)]);
        const int of_host = placed[node]++;
        if (r == p.rank) p.of_host = of_host;
        p.addresses.push_back((p.one_host ? "127.0.0.1" : hosts[node]) + ":" + std::to_string(s.port(of_host)));
    }

    // Slurm says where this very process is: that must be what was computed of it.
    const auto check = [&](const char* name, int computed, const char* what) {
        const auto told = s.variable(name);
        if (told && told->number(0, most_ranks, what) != computed)
            told->refuse(std::string(what) + " would be " + std::to_string(computed) + " by " + list->text() +
                         ", tasks being dealt out in the way \"" +
                         (s.has("SLURM_DISTRIBUTION") ? s.variable("SLURM_DISTRIBUTION")->value : "block") +
                         "\"; set TENON_RENDEZVOUS, or start with srun -m block");
    };
    check("SLURM_NODEID", nodes[static_cast<std::size_t>(p.rank)], "the number of this task's host");
    check("SLURM_LOCALID", p.of_host, "this task's number on its host");

    // Rank 0's host serves a rendezvous, where one is needed, a port below the tasks.
    const std::string host = p.one_host ? "127.0.0.1" : hosts[static_cast<std::size_t>(nodes[0])];
    p.listen = host + ":" + std::to_string(s.port(0) - 1);
    p.reached = {p.listen};
    const auto job = s.first_of({"SLURM_JOB_ID", "SLURM_JOBID"});
    const auto step = s.first_of({"SLURM_STEP_ID", "SLURM_STEPID"});
    p.run = "slurm " + (job ? job->value : "?") + "." + (step ? step->value : "?");
    p.how = list->text() + (p.one_host ? ", which is one host, so that all are on loopback" : "");
    return p;
}

} // namespace tenon::net
