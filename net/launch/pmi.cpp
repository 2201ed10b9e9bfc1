// The process management interface: Hydra's mpiexec (MPICH, Intel MPI, MVAPICH), srun --mpi, prterun. It numbers processes and
// tells no addresses.
//
//   PMI_RANK, PMI_SIZE; MPI_LOCALRANKID, MPI_LOCALNRANKS (Hydra)
//   HYDRA_CONTROL_PORT, which is not in the environment: what Hydra told its proxy of this host, mpiexec's host and port
//   PMI_FD: a socket by which processes tell each other short texts; MPIR_CVAR_CH3_INTERFACE_HOSTNAME: this host's name
//   PMIX_RANK, PMIX_NAMESPACE (no size: TENON_TASKS tells it)

#include <net/launch/launchers.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace tenon::net {

// A process of Hydra is a child, or a grandchild, of hydra_pmi_proxy, which is told where its mpiexec is.
std::string hydra_control_port() {
    constexpr int generations = 8;
    pid_t of = ::getppid();
    for (int i = 0; i < generations && of > 1; ++i) {
        const std::string folder = "/proc/" + std::to_string(of);
        std::ifstream line(folder + "/cmdline", std::ios::binary), stat(folder + "/stat");
        std::string program, argument;
        std::getline(line, program, '\0');
        if (program.ends_with("hydra_pmi_proxy"))
            while (std::getline(line, argument, '\0'))
                if (argument == "--control-port" && std::getline(line, argument, '\0')) return argument;
        // "12 (name) S 11 ...", where the name may have anything in it.
        std::string text;
        std::getline(stat, text, '\0');
        std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
        std::string state;
        of = 0;
        rest >> state >> of;
    }
    return {};
}

sighting see_pmi(const settings& s) {
    const auto rank = s.first_of({"PMI_RANK", "PMIX_RANK"});
    if (!rank) return {};
    sighting seen{rank->text(), ""};
    if (s.has("OMPI_COMM_WORLD_RANK") && rank->name == "PMIX_RANK")
        seen.unusable = "mpirun set it for its own use, beside OMPI_COMM_WORLD_RANK";
    // srun gives the numbers in both ways, and hosts in its own.
    const sighting slurm = see_slurm(s);
    const auto size = s.variable("PMI_SIZE"), tasks = s.first_of({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
    if (!slurm.seen.empty() && slurm.unusable.empty() && s.variable("SLURM_PROCID")->value == rank->value &&
        (!size || (tasks && tasks->value == size->value)))
        seen.unusable = "srun set it, and tells the same with hosts in " + slurm.seen;
    return seen;
}

ranked_process read_pmi(const settings& s) {
    const named_value rank = *s.first_of({"PMI_RANK", "PMIX_RANK"});
    ranked_process p{.rank = rank.number(0, most_ranks, "a process's rank")};
    if (rank.name == "PMI_RANK") {
        const named_value size = s.needed(
            "PMI_SIZE", "mpiexec sets it beside PMI_RANK: start the program with mpiexec, or set TENON_LAUNCHER=none");
        p.size = size.number(1, most_ranks, "the number of processes");
        p.size_from = size.name;
        if (p.rank >= p.size) rank.refuse("there are only " + std::to_string(p.size) + " processes, by " + size.text());
    }
    if (const auto local = s.variable("MPI_LOCALRANKID"))
        p.of_host = local->number(0, most_ranks, "a process's rank on its host");
    if (const auto local = s.variable("MPI_LOCALNRANKS"))
        p.one_host = local->number(1, most_ranks, "the number of processes on a host") == p.size;
    if (const auto run = s.first_of({"PMIX_NAMESPACE", "PMI_JOBID", "HYDRA_CONTROL_PORT"})) p.run = "pmi " + run->value;
    if (p.one_host && !p.run.empty()) {
        meet_on_this_host(p);
        return p;
    }
    if (const auto name = s.variable("MPIR_CVAR_CH3_INTERFACE_HOSTNAME")) p.host = name->value;
    if (const auto socket = s.variable("PMI_FD"); socket && rank.name == "PMI_RANK") {
        p.pmi = socket->number(0, 65535, "a descriptor");
        p.how = "rank 0 tells where it is through mpiexec (" + socket->text() + ")";
        return p;
    }
    p.nowhere = "PMI does not tell where rank 0 runs";
    return p;
}

} // namespace tenon::net
