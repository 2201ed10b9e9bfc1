#include <net/command/serve.hpp>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <thread>

#include <pthread.h>

#include <net/launch/rendezvous.hpp>
#include <net/client/client.hpp>
#include <tenon/core/error.hpp>

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

} // namespace

int serve(const serve_options& options) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr); // threads that begin from here on do not take them

    net::cluster_source source = net::resolve_cluster(options.source);
    if (!options.quiet) std::fputs(source.described().c_str(), stderr);
    if (source.rendezvous) {
        const auto over = net::make_tcp_transport(net::tcp_options_of(options.server.tls, false));
        net::rendezvous_options meeting;
        meeting.token = options.server.token;
        meeting.insecure = options.server.insecure;
        meet(*over, source, meeting);
    }
    if (!source.is_task())
        throw invalid_argument_error(
            "serve: this process is no task of a cluster; say which with --cluster, --job and --task, or with "
            "TENON_CLUSTER, TENON_JOB and TENON_TASK (docs/clusters.md)");
    server_options own = options.server;
    if (!options.quiet) own.log = tell;
    if (options.verbose) own.log_verbose = tell;
    server s(source.tasks, source.job, source.task, std::move(own));

    // Two may end it, a signal or a client: the one that does tells the other.
    std::thread signals([&] {
        int which = 0;
        sigwait(&ends, &which);
        (void)s.stop(options.grace);
    });
    s.join();
    pthread_kill(signals.native_handle(), SIGTERM);
    signals.join();
    return s.stop() ? 0 : 1;
}

} // namespace tenon::command
