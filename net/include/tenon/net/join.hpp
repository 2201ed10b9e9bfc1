#pragma once

#include <functional>
#include <memory>
#include <string>

#include <tenon/cluster/replica_device_setter.hpp>
#include <tenon/net/cluster_source.hpp>
#include <tenon/net/server.hpp>

/// One program under every engine that starts several processes: a shell, tenon launch, Slurm, Open MPI, MPICH, torchrun, Kubernetes,
/// whatever sets TENON_CLUSTER or TF_CONFIG. docs/clusters.md has them all.
///
///     int main(int argc, char** argv) {
///         tn::net::member self = tn::net::join(argc, argv);
///         if (self.is_parameter_server()) return self.serve();
///         const auto placed = tn::on(self.placement());
///         // ... the model ...
///         tn::monitored_session sess({.target = self.target(),
///                                     .session = {.device_filters = self.device_filters()},
///                                     .is_chief = self.is_chief(),
///                                     .checkpoint = "run/model"});
///         sess.loop([&] { /* a step, on the data of self.replica() of self.replicas() */ });
///         sess.close();
///         return self.finish();
///     }

namespace tenon::net {

struct join_options {
    /// Of this process's server. What is left out of its identity is taken from variables: TENON_TOKEN, TENON_CERTIFICATE, TENON_KEY,
    /// TENON_AUTHORITIES, TENON_INSECURE, TENON_FILES. `listen` and `run` are what joining finds out.
    server_options server{};
    /// Seconds within which all that are needed must have come; 0: TENON_JOIN_TIMEOUT, or 60.
    double timeout = 0;
    /// Seconds that who holds variables goes on for workers that are lost and may come again, and, when it is asked to end, for those
    /// that save what they have; 0: TENON_GRACE, or 20.
    double grace = 0;
    /// SIGTERM and SIGUSR1 ask the process to stop (stop_on_signals) rather than end it.
    bool stop_on_signals = true;
    /// Lines for a person: how the place was found, where it serves and who can reach that, who came and who left. Not set: standard
    /// error. An empty function given as such cannot be told from none: for silence give one that does nothing.
    std::function<void(const std::string& line)> log{};
};

/// This process, as one of a run. There is one in a process. Copies are of the same; the place in the run is kept until the process
/// ends, which tells the others its status: also where main() returns, or somebody calls exit(). One that is killed is missed.
class member {
public:
    /// The run, by a name that no other has: "slurm 4711.0 9f31c2d80a4be657".
    const std::string& run() const noexcept;
    const tenon::cluster& cluster() const noexcept;
    /// "ps", "worker", "chief", ...; "worker" where nobody says anything: the process is alone then.
    const std::string& job() const noexcept;
    int task() const noexcept;
    /// "/job:worker/task:2"
    std::string device() const;

    /// Of the job "ps": it holds variables, and serve() is what it does.
    bool is_parameter_server() const noexcept;
    /// As TensorFlow has it: the job "chief" or "master", or, where there is neither, worker 0.
    bool is_chief() const noexcept;
    /// Which of those that train this is, and how many there are: the chief, then the workers. What shards data.
    int replica() const noexcept;
    int replicas() const noexcept;

    /// Of an evaluator that stands beside its cluster: failed_precondition_error, it has none.
    tenon::server& server() const;
    /// What opens sessions: on its own server, or on the first task where it has none.
    std::string target() const;
    /// Variables to the parameter servers, in turn; the rest here. Where there are no parameter servers variables are on the cluster's
    /// first task.
    replica_device_setter placement() const;
    /// The tasks that a session of this process needs: those that hold variables, and this one.
    std::vector<std::string> device_filters() const;

    /// Serves until all that train have ended. The status of the first that failed, 0 where none did: 137 of one that was lost (it was
    /// killed, or cannot be reached) and did not come again, or never came. Where a stop was asked for, of those that it was given.
    /// Whoever holds no variables returns 0 at once.
    int serve() const;
    /// The status for main() to return: 0, or 128 + the signal's number where a signal asked to stop. Where this is the task that holds
    /// the variables, waits until all others have ended, as serve() does.
    int finish() const;

    struct state; // the library's own

private:
    friend member join(int& argc, char** argv, join_options options);
    explicit member(std::shared_ptr<state> s) : state_(std::move(s)) {}
    std::shared_ptr<state> state_;
};

/// Finds out who started this process (resolve_cluster, whose flags it takes out of the arguments), meets the others where addresses
/// are not known, serves, and has those that hold variables know it. Returns when these are there.
///
/// Sessions of this process show the run's token from then on, where client_options say none. Throws invalid_argument_error where
/// flags or variables are wrong, naming them; deadline_exceeded_error that names who did not come in time; permission_denied_error where
/// others would be reached over connections that are neither encrypted nor on loopback, and nobody said that they may be (TENON_INSECURE),
/// or the token is another; unavailable_error where it cannot serve; failed_precondition_error where the process has joined already.
member join(int& argc, char** argv, join_options options = {});

} // namespace tenon::net
