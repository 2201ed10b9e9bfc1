#pragma once

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

/// Serves until SIGINT or SIGTERM comes or a client asks it to stop, and, where a launcher started all of a run, until all that train
/// have ended; tells on standard error which cluster it belongs to and why, who came and who left. Returns the status of the first of
/// those that failed, 1 where steps in flight had to be cut off, else 0. Throws tenon::error where it cannot serve.
int serve(const serve_options& options);

} // namespace tenon::command
