// A task of a cluster, for tests of real processes: workers add to counters on the parameter servers, between-graph, and tell what
// they have seen.
//
//   count STEPS [WORKER DIES_AT [SECONDS]]   that worker kills itself after so many steps; tasks have 20 s, or SECONDS, to answer first
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

namespace {

void work(const tn::net::cluster_source& place, const tn::server& self, std::int64_t steps, int who_dies,
          std::int64_t at, double seconds) {
    const auto placed = tn::on(tn::replica_device_setter(
        place.tasks, {.worker_device = tn::device_name("/job:worker/task:" + std::to_string(place.task))}));
    std::vector<tn::tensor<std::int64_t, tn::shape<>>> counts, more;
    for (const int w : place.tasks.tasks("worker")) {
        const auto count = tn::variable("count_" + std::to_string(w), std::int64_t{0});
        counts.push_back(count);
        more.push_back(count.assign_add(std::int64_t{1}));
    }
    tn::session sess(self.target(), {.operation_timeout = 20,
                                     .device_filters = {"/job:ps", "/job:worker/task:" + std::to_string(place.task)},
                                     .open_timeout = seconds});
    if (place.task == 0) sess.run(tn::initialize_variables());
    else
        for (bool there = false; !there;) try {
                (void)sess.run(counts.back());
                there = true;
            } catch (const tn::failed_precondition_error&) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the chief is not there yet
            }
    const auto own = static_cast<std::size_t>(place.task);
    auto step = sess.callable(tn::feeds(), tn::fetches(more[own]));
    for (std::int64_t s = 1; s <= steps; ++s) {
        auto [seen] = step();
        if (seen() != s) {
            std::printf("after %lld steps the counter is %lld\n", static_cast<long long>(s),
                        static_cast<long long>(seen()));
            std::exit(3);
        }
        if (place.task == who_dies && s == at) (void)::kill(::getpid(), SIGKILL);
    }
    std::printf("counted");
    for (const auto& c : counts) std::printf(" %lld", static_cast<long long>(sess.run(c)()));
    std::printf("\n");
}

} // namespace

int main(int argc, char** argv) {
    try {
        const tn::net::cluster_source place = tn::net::resolve_cluster({});
        tn::server self(place.tasks, place.job, place.task, {.heartbeat = 0.5, .lease = 2});
        if (place.job == "ps") self.join();
        else
            work(place, self, argc > 1 ? std::atoll(argv[1]) : 100, argc > 3 ? std::atoi(argv[2]) : -1,
                 argc > 3 ? std::atoll(argv[3]) : 0, argc > 4 ? std::atof(argv[4]) : 20);
    } catch (const tn::error& e) {
        std::fprintf(stderr, "%s: %s\n", tn::name_of(e.code()), e.what());
        return 1;
    }
}
