#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/cluster/cluster.hpp>

/// Which cluster a process belongs to, and which task it is: from flags, from variables of Tenon's own, or from those that
/// a launcher set. docs/clusters.md has them all.
///
///     const auto source = tn::net::resolve_cluster(tn::net::take_cluster_flags(argc, argv));
///     std::cerr << source.described();

namespace tenon::net {

/// Variables by name. What is set to nothing counts as not set.
class environment {
public:
    environment() = default;
    environment(std::initializer_list<std::pair<const std::string, std::string>> variables) : variables_(variables) {}
    /// Those of this process, as they are now.
    static environment of_process();

    /// Its value; nullptr where it is not set.
    const std::string* find(const std::string& name) const;
    void set(const std::string& name, std::string value) { variables_[name] = std::move(value); }
    void unset(const std::string& name) { variables_.erase(name); }

private:
    std::map<std::string, std::string> variables_;
};

/// What a program's arguments say; empty: nothing. Each stands over the variable that is named beside it.
struct cluster_flags {
    std::string cluster;    ///< TENON_CLUSTER: its JSON, or the path of a file that holds it
    std::string job;        ///< TENON_JOB
    std::string task;       ///< TENON_TASK: a number, or "rank": the launcher's
    std::string rank;       ///< TENON_RANK: instead of a launcher's
    std::string tasks;      ///< TENON_TASKS: "8", "ps=2,worker=6", or "ps=1,worker=2x3" for jobs of a JobSet
    std::string ps_tasks;   ///< TENON_PS_TASKS: how many of the first ranks are parameter servers
    std::string port;       ///< TENON_PORT: the first task of a host serves on it; else any that is free, in pods 2222
    std::string host;       ///< TENON_HOST: the name by which others reach this one
    std::string service;    ///< TENON_SERVICE: the headless service of a Kubernetes job
    std::string rendezvous; ///< TENON_RENDEZVOUS: "host:port" where rank 0 serves it, or "file:PATH"
    std::string launcher;   ///< TENON_LAUNCHER: whose variables count; "none": nobody's
};

/// Takes --cluster, --job, --task, --rank, --tasks, --ps-tasks, --port, --host, --service, --rendezvous and --launcher out of
/// a program's arguments, as "--job=ps" or "--job ps"; what follows "--" is left alone. Throws invalid_argument_error for
/// one that occurs twice or has no value.
cluster_flags take_cluster_flags(int& argc, char** argv);

/// How the processes of a launcher that knows no addresses find each other: rank 0 serves, the others come and say who they
/// are, and all are given the same cluster.
struct rendezvous_point {
    int rank = 0;
    int size = 1;
    std::string job; ///< what this rank is to be
    int task = -1;   ///< -1: the next that is free, in the order of ranks
    std::string
        serve; ///< where it will serve, "host:port"; ":port" leaves the host to rank 0, who sees it; port 0: any that is free
    bool one_host = false; ///< all run on this host
    std::vector<std::string>
        listen; ///< where rank 0 serves the rendezvous: the first that is free; port 0 where there is a file
    std::vector<std::string> addresses; ///< where it is reached, tried in turn; none where there is a file
    std::string file;                   ///< which rank 0 writes its address into; empty: none
    int pmi = -1;      ///< a socket by which mpiexec of MPICH has rank 0 tell the others where it is; -1: none
    std::string run;   ///< a name that only processes of this run have
    std::string token; ///< a secret that their launcher gives them; empty: none
};

/// A cluster and this process's place in it, and why.
struct cluster_source {
    std::string decided; ///< who did: "--cluster", "TENON_CLUSTER", "Slurm", ...; empty: nobody
    cluster tasks;       ///< without jobs where nobody decided, and until the rendezvous is over
    std::string run;     ///< engine and job, "slurm 4711.0"; empty: nobody says
    std::string job;     ///< empty: a client
    int task = -1;       ///< -1: a client
    std::string listen;  ///< where it serves, where that is not just at its address: all of a pod's
    std::optional<rendezvous_point> rendezvous; ///< what is still to be done
    std::vector<std::string> explanation;

    /// Whether it is a task, rather than a client of the cluster or an evaluator beside it.
    bool is_task() const noexcept { return tasks.has(job, task); }
    /// As TensorFlow has it: the job "chief" or "master", or, where there is neither, worker 0.
    bool is_chief() const noexcept;
    /// The explanation, a line each.
    std::string described() const;
};

/// Computes it from nothing but its arguments and the file that they name. A flag stands over the variable TENON_..., and
/// both over those of launchers, in the order TF_CONFIG, torchrun, Open MPI, PMI, Slurm, JobSet, Kubernetes. Throws
/// invalid_argument_error that names the variable, its value and what to do.
cluster_source resolve_cluster(const cluster_flags& flags, const environment& variables = environment::of_process());

} // namespace tenon::net
