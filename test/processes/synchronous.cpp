// A task of a cluster, for tests of real processes: one of three workers that train synchronously, two gradients a step, through the
// loss of workers and parameter servers, with a checkpoint every 50 steps below the folder TENON_FILES. Two variables, on two parameter
// servers, begin alike and have gradients alike: they differ at the end if a gradient was applied to one of them, or twice.
//
//   synchronous STEPS
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main(int argc, char** argv) {
    try {
        const tn::net::cluster_source place = tn::net::resolve_cluster({});
        tn::server_options o{.heartbeat = 0.5, .lease = 2};
        if (const char* folder = std::getenv("TENON_FILES")) o.files = folder;
        const tn::server self(place.tasks, place.job, place.task, o);
        const std::string own = "/job:worker/task:" + std::to_string(place.task);
        const auto placed = tn::on(tn::replica_device_setter(place.tasks, {.worker_device = tn::device_name(own)}));
        const auto step = tn::global_step(); // on ps 0
        const auto v = tn::variable("v", 0.0), w = tn::variable("w", 0.0);
        const auto x = tn::placeholder<double, tn::shape<>>("x");
        const tn::sync_replicas sync(tn::momentum(0.01), {.aggregate = 2, .total = 3, .replica = place.task});
        const auto train = sync.minimize((v + w) * x);
        tn::monitored_session sess({.target = self.target(),
                                    .session = {.operation_timeout = 60, .device_filters = {"/job:ps", own}},
                                    .is_chief = place.task == 0,
                                    .chief_lease = 1,
                                    .checkpoint = "model",
                                    .save_every = {.steps = 50},
                                    .recovery_timeout = 30,
                                    .hooks = {sync.hook(), tn::stop_at_step(argc > 1 ? std::atoll(argv[1]) : 100)},
                                    .log = [](const std::string& line) {
                                        std::printf("%s\n", line.c_str());
                                        std::fflush(stdout);
                                    }});
        std::mt19937 random(static_cast<unsigned>(place.task));
        std::normal_distribution<double> normal;
        std::int64_t done = 0, counted = 0;
        sess.loop([&] {
            ++done;
            counted += sess.run(tn::feed(x, normal(random)), train, sync.counted()).item();
            if (done % 200 == 0) {
                std::printf("has run %lld\n", static_cast<long long>(done));
                std::fflush(stdout);
            }
        });
        {
            const auto still = sync.between_steps(sess.session());
            const auto [is_w, is_v, steps] = sess.session().run(w, v, step);
            std::printf("after step %lld: %s, in %d sessions, %s\n", static_cast<long long>(steps()),
                        is_w() == is_v() ? "alike" : "they differ", sess.sessions_opened(),
                        counted > 0 ? "has taken part" : "has not taken part");
        }
        sess.close();
    } catch (const tn::error& e) {
        std::fprintf(stderr, "%s: %s\n", tn::name_of(e.code()), e.what());
        return 1;
    }
}
