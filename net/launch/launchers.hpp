#pragma once

#include <string>
#include <vector>

#include <net/client/settings.hpp>

/// What each launcher tells the processes that it starts. A file for each.

namespace tenon::net {

/// Whether a launcher's variables are there.
struct sighting {
    std::string seen;     ///< those by which it is known, NAME="value"; empty: it is not there
    std::string unusable; ///< why it cannot decide though it is there; empty: it can
};

/// A process of those that a launcher numbered from 0.
struct ranked_process {
    int rank = 0;
    int size = 0;                            ///< 0: the launcher does not tell
    std::string size_from = {};              ///< the variable that told it
    int of_host = -1;                        ///< its number among those of its host; -1: not told
    bool one_host = false;                   ///< all run on one host
    std::vector<std::string> addresses = {}; ///< of all ranks, where the launcher tells; else none
    // Where rank 0 can serve a rendezvous, if the launcher tells: the first of these that is free.
    std::vector<std::string> listen = {};
    std::vector<std::string> reached = {};
    std::string file = {};
    int pmi = -1;
    std::string run = {};     ///< a name that only processes of this run have; empty: not told
    std::string token = {};   ///< a secret that only they have; empty: none
    std::string host = {};    ///< by which others reach this process; empty: not told
    std::string nowhere = {}; ///< why there is no such place
    std::string how = {};     ///< how the addresses or the rendezvous were found, in words
};

/// All run on this host: rank 0 serves on loopback, and writes where into a file that only this user's processes of this run find.
void meet_on_this_host(ranked_process& p);
/// Rank 0 serves on one of some ports that are made of the run's name: others are another run's then.
void meet_at_ports_of_run(ranked_process& p, const std::vector<std::string>& hosts, const std::string& listen);

/// A task of a cluster that is wholly described.
struct described_task {
    cluster tasks;
    std::string job;
    int task = -1;
};

struct job_count {
    std::string job;
    int tasks = 0;     ///< in all
    int pods_each = 1; ///< of each job of a JobSet, of which there are tasks / pods_each
};

sighting see_tf_config(const settings& s);
described_task read_tf_config(const settings& s);

sighting see_torchrun(const settings& s);
ranked_process read_torchrun(const settings& s);

sighting see_open_mpi(const settings& s);
ranked_process read_open_mpi(const settings& s);

/// "host:port" of the mpiexec of Hydra that started this process; empty: none did.
std::string hydra_control_port();
sighting see_pmi(const settings& s);
ranked_process read_pmi(const settings& s);

sighting see_slurm(const settings& s);
ranked_process read_slurm(const settings& s);

/// A task of a JobSet knows its job's name; its rank follows from how many tasks each job has.
sighting see_jobset(const settings& s);
ranked_process read_jobset(const settings& s, const std::vector<job_count>& jobs);

sighting see_kubernetes(const settings& s);
ranked_process read_kubernetes(const settings& s, int size);

} // namespace tenon::net
