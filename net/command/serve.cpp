#include <net/command/serve.hpp>

#include <csignal>
#include <cstdio>
#include <ctime>

#include <net/join/member_state.hpp>
#include <net/transport/transport.hpp>
#include <tenon/core/error.hpp>
#include <tenon/train/session/stop_signal.hpp>

namespace tenon::command {

namespace {

void tell(const std::string& line) {
    std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    char time[32];
    std::strftime(time, sizeof time, "%H:%M:%S", &parts);
    std::fprintf(stderr, "%s %s\n", time, line.c_str());
}

void tell_nobody(const std::string&) {}

} // namespace

int serve(const serve_options& options) {
    stop_on_signals({SIGTERM, SIGINT});
    net::join_options o{.server = options.server, .stop_on_signals = false, .log = options.quiet ? tell_nobody : tell};
    if (options.verbose) o.server.log_verbose = tell;
    net::member::state self;
    self.begin(options.source, std::move(o));
    const net::cluster_source& place = self.place;
    if (place.decided.empty() || !self.own)
        throw invalid_argument_error(
            "serve: this process is no task of a cluster; say which with --cluster, --job and --task, or with "
            "TENON_CLUSTER, TENON_JOB and TENON_TASK (docs/clusters.md)");
    // Of a cluster that somebody describes, nobody knows who will come.
    const bool is_described = place.decided == "--cluster" || place.decided == "TENON_CLUSTER";
    self.grace = std::chrono::duration_cast<net::duration>(std::chrono::duration<double>(options.grace));
    const int status = self.wait_for_others(is_described || !self.holds);
    const bool is_drained = self.own->stop(options.grace);
    return !is_described && status != 0 ? status : is_drained ? 0 : 1;
}

} // namespace tenon::command
