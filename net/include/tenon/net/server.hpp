#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tenon/cluster/cluster.hpp>
#include <tenon/resources/collective/collective_group.hpp>
#include <tenon/runtime/session/options.hpp>

/// Tasks of a cluster.
///
///     const tn::cluster c({{"ps", {"localhost:2222"}}, {"worker", {"localhost:2223"}}});
///     tn::server ps(c, "ps", 0);                  // in one process
///     tn::server worker(c, "worker", 0);          // in another, or in the same
///     tn::session sess(worker.target());          // "tenon://localhost:2223", from anywhere
///     ps.join();                                  // until it is stopped

namespace tenon {

class server;
namespace net {
class server_core;
server_core& core_of(const server& s); // for what is built on it within the library
} // namespace net

/// Certificates and keys of connections, in files (PEM).
struct tls_files {
    std::string certificate_chain = {}; ///< one's own, then those that lead to an authority; who serves needs one
    std::string private_key = {};       ///< without a password
    /// Whose certificates are believed; given, both sides must show one. Empty: those of the system.
    std::string authorities = {};
    bool empty() const noexcept { return certificate_chain.empty() && authorities.empty(); }
};

/// What a server takes from one client, or from one other task. What is beyond is refused with a resource_exhausted_error that has the
/// numbers; all of it is given back when the client leaves, or is not heard of for the lease.
struct client_limits {
    std::size_t sessions = 256;
    std::int64_t nodes = std::int64_t{1} << 20;      ///< of a session's graph
    std::size_t graph_bytes = std::size_t{16} << 30; ///< of a session's graph, constants included
    std::size_t callables = 65536;                   ///< of a session: steps that it knows
    std::size_t steps = 65536;                       ///< of a session: that are under way, or wait
    std::size_t data_sets = 1024;                    ///< of a session: that its iterators go through
    std::size_t calls = 4096;                        ///< of a session, steps apart: that are under way
    std::size_t bytes = std::size_t{4} << 30;        ///< of these calls; and as many of answers that it has not read
};

struct server_options {
    /// Where it listens, "host:port"; empty: the address that the cluster gives the task. Port 0 is any that is free.
    std::string listen = {};
    // What the task has, as in task_options.
    int intra_op_threads = 0;
    /// Bytes of the host's memory, 0: no limit. Variables, steps and what they send, constants and nodes of graphs, elements of queues, what
    /// is received and what is kept for further use are held against it together, each in the name of the client who wanted it
    /// (`tenon status` shows how much that is). What does not fit is refused with a resource_exhausted_error that says so.
    std::size_t memory_limit = 0;
    int cpu_devices = 1;
    std::shared_ptr<const gpu_backend> gpus = nullptr;
    memory_policy gpu_memory = {};
    gpu_selection gpu_devices = {};
    /// A folder: the ops that use files (checkpoints, readers) may read and write those below it, on behalf of every client, and no
    /// others. Their relative paths begin there. Empty: such ops are refused.
    std::string files = {};

    /// What is not given of the next three is taken from variables, as the command takes it: TENON_TOKEN; TENON_CERTIFICATE, TENON_KEY
    /// and TENON_AUTHORITIES; TENON_INSECURE ("1").
    /// A secret that the cluster's tasks and clients share, and prove to each other without sending it.
    std::string token = {};
    tls_files tls = {};
    /// Plain connections from other machines, and without a token: by name only. Without it, where there is neither TLS nor this,
    /// a server takes connections from its own machine alone.
    bool insecure = false;
    /// A name that only tasks of this run of the cluster have: a task of another one is refused, also where the two clusters' addresses are
    /// the same. Empty: TENON_RUN, and where that is not set either, the addresses are all there is.
    std::string run = {};

    /// Large values to processes of this machine and this user go through memory that the two have, also where the rest is
    /// encrypted. False: all by TCP.
    bool shared_memory = true;

    double heartbeat = 2;        ///< seconds between signs of life
    double lease = 6;            ///< seconds without one after which a peer is taken for dead
    std::size_t sessions = 1024; ///< of all clients
    std::size_t clients = 16384; ///< clients and tasks that are linked to it
    client_limits client = {};
    /// Lines that a person can read, of what should be looked at: where it serves, tasks that are lost, who was refused and why. Not set:
    /// nothing is told.
    std::function<void(const std::string& line)> log = {};
    /// The same of what comes and goes as it should, or is no part of a cluster: links, clients, and connections of probes. Not set:
    /// nothing is told.
    std::function<void(const std::string& line)> log_verbose = {};

    /// Where it tells by HTTP how it is, for people and Prometheus (docs/operating.md): "port", of this machine alone, or "host:port";
    /// port 0 is any that is free, which the log says. Empty: what the variable TENON_HTTP says, or nowhere. With a token whoever asks
    /// must show it; with tls it is HTTPS. Beyond this machine it wants a token, and TLS or `insecure`.
    std::string http = {};
};

/// One task. It serves from when it is made until it is stopped; several may live in one process.
class server {
public:
    /// invalid_argument_error where an option makes no sense, not_found_error where the cluster has no such task;
    /// unavailable_error where its address cannot be had, naming it; permission_denied_error where it would take connections from
    /// other machines and neither TLS with a token nor `insecure` is asked for.
    server(const tenon::cluster& c, const std::string& job, int task, server_options options = {});
    /// Stops at once: steps in flight fail.
    ~server();
    server(server&&) noexcept;
    server& operator=(server&&) noexcept;

    /// A cluster of one task, job "local", on a free port of this machine.
    static server create_local_server(server_options options = {});

    /// What opens sessions on it: "tenon://host:port".
    std::string target() const;
    /// "host:port", with the port that 0 became.
    const std::string& address() const;
    const tenon::cluster& cluster() const;

    /// The tasks of these jobs, in this order, as processes that compute together (tn::mirrored_strategy takes them), in steps of their own
    /// sessions; without jobs, those of this task's job. All of them call this. Waits until all are reached, so many seconds at most:
    /// deadline_exceeded_error names those that are not. invalid_argument_error where this task is none of them; already_exists_error
    /// where the process has a group of this name (empty: the jobs') that lives.
    std::shared_ptr<collective_group> processes(const std::vector<std::string>& jobs = {}, double seconds = 60,
                                                const std::string& name = {});

    /// Waits until it was stopped, by stop() or by a client (`tenon stop`, which says for how many seconds steps may end).
    void join();
    /// Takes no further sessions and steps, waits until those in flight have ended, so many seconds at most, then releases the port.
    /// True where all ended by themselves, also when it is asked again. Another server may use the port at once.
    bool stop(double seconds = 10);

private:
    friend net::server_core& net::core_of(const server& s);
    struct state;
    explicit server(std::unique_ptr<state> s);
    state& live() const;
    std::unique_ptr<state> state_;
};

/// What this process's sessions show to servers: session("tenon://...") uses what was set last.
struct client_options {
    // What is not given of the first three is taken from variables, as server_options do; a token else from the run that the process has
    // joined (net/join.hpp).
    std::string token = {};
    tls_files tls = {};
    bool insecure = false;     ///< plain connections to other machines
    bool shared_memory = true; ///< as in server_options
    double heartbeat = 2;
    double lease = 6;
};
void set_client_options(client_options o);

} // namespace tenon
