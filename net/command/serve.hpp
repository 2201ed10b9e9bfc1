#pragma once

#include <string>

#include <tenon/net/cluster_source.hpp>
#include <tenon/net/server.hpp>

/// tenon serve: one task of a cluster.

namespace tenon::command {

struct serve_options {
    net::cluster_flags source;
    server_options server;
    double grace = 10; ///< seconds for steps in flight, when it is asked to stop
    bool quiet = false;
    bool verbose = false; ///< also links, and who connects and is nobody of the cluster
};

/// Serves until SIGINT or SIGTERM comes or a client asks it to stop; tells on standard error which cluster it belongs to and why, and
/// what should be looked at. Returns 0, or 1 where steps in flight had to be cut off. Throws tenon::error where it cannot serve.
/// To be called before the process has other threads: they would take the signals.
int serve(const serve_options& options);

} // namespace tenon::command
