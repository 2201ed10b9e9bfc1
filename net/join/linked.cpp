#include <net/server/server_core.hpp>
#include <tenon/core/error.hpp>
#include <tenon/net/cluster_source.hpp>
#include <tenon/net/join.hpp>
#include <tenon/train/replicated/processes.hpp>

namespace tenon::net {

namespace {

// How many processes train, as the environment says it; 0: it says nothing, or this process is none of them.
int told_of(std::string& by) {
    const cluster_source place = resolve_cluster({}, environment::of_process());
    by = place.decided;
    if (place.decided.empty()) return 0;
    if (place.rendezvous) return place.rendezvous->size;
    return place.is_task() ? static_cast<int>(place.tasks.tasks(place.job).size()) : 0;
}

bool links_fit(std::string& why) {
    const std::size_t servers = living_cores().size();
    if (servers == 1) why = "this process has a server of a cluster";
    if (servers > 1) why = "this process has several servers; ask one of them (tn::server::processes)";
    if (servers > 0) return servers == 1;
    std::string by;
    const int processes = told_of(by);
    if (processes > 1) why = "by " + by + " this process is one of " + std::to_string(processes);
    else
        why = "this process has no server (tn::server, tn::net::join), and " +
              (by.empty() ? std::string("no launcher and no variable says of others") : by + " says of no others");
    return processes > 1;
}

// Where the program has not joined, this does.
std::shared_ptr<collective_group> join_by_links(const processes_options& o, const std::string& why) {
    if (living_cores().empty()) {
        char name[] = "processes";
        char* arguments[] = {name, nullptr};
        int count = 1;
        static member* self = nullptr; // it serves until the process ends
        if (!self) self = new member(join(count, arguments));
    }
    const std::vector<server_core*> servers = living_cores();
    if (servers.empty()) throw failed_precondition_error("processes: the server of this process has gone");
    auto g = servers.front()->processes(o.jobs, {}, o.seconds);
    g->explain(g->explained() + ": " + why);
    return g;
}

} // namespace

/// What has a program that links this library linked with it: processes by links.
extern "C" int tenon_launch_linked;
int tenon_launch_linked = [] {
    register_processes_way({"links", 1, links_fit, join_by_links});
    return 1;
}();

} // namespace tenon::net
