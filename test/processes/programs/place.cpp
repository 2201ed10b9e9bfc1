// A task that finds its cluster, says it, and ends: what launchers start in tests.
//
//   place [--limit MILLISECONDS] [flags of take_cluster_flags]
//
// It has a port of its own before it tells others of it. Output: a line "/job:worker/task:1 {cluster}"; errors: how it was found.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <net/launch/rendezvous/rendezvous.hpp>
#include <net/transport/tcp.hpp>
#include <tenon/core/error.hpp>

using namespace tenon::net;

int main(int argc, char** argv) {
    try {
        cluster_source source = resolve_cluster(take_cluster_flags(argc, argv));
        rendezvous_options options;
        if (argc == 3 && std::string(argv[1]) == "--limit")
            options.limit = std::chrono::milliseconds(std::atoi(argv[2]));
        const auto t = make_tcp_transport();
        const auto listener = t->listen(
            "127.0.0.1:0", [](std::shared_ptr<connection>) -> std::shared_ptr<connection_user> { return nullptr; });
        options.serve = listener->address();
        meet(*t, source, options);
        std::fputs(source.described().c_str(), stderr);
        std::printf("/job:%s/task:%d %s\n", source.job.c_str(), source.task, source.tasks.to_json().c_str());
    } catch (const tenon::error& e) {
        std::fprintf(stderr, "place: %s\n", e.what());
        return 3;
    }
    return 0;
}
