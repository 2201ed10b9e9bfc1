// A task of a cluster, for tests of real processes: one of several workers that train together through the loss of workers and parameter
// servers, with a checkpoint every 50 steps below the folder TENON_FILES. Two variables, on two parameter servers, begin alike and have
// gradients alike, noise and all, so that their sum goes to 3. Synchronous workers' differ at the end if a gradient was applied to one of them,
// or twice.
//
//   trains KIND WORKERS STEPS [FILE]
//
// KIND: asynchronous, synchronous (of all workers), backup (one of them), elastic (of those that are there). With FILE it ends, too, when there is that file.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    try {
        const std::string kind = argv[1], file = argc > 4 ? argv[4] : "";
        const int workers = std::atoi(argv[2]);
        const tn::net::cluster_source place = tn::net::resolve_cluster({});
        tn::server_options o{.heartbeat = 0.5, .lease = 2};
        if (const char* folder = std::getenv("TENON_FILES")) o.files = folder;
        const tn::server self(place.tasks, place.job, place.task, o);
        const std::string own = "/job:worker/task:" + std::to_string(place.task);
        const auto placed = tn::on(tn::replica_device_setter(place.tasks, {.worker_device = tn::device_name(own)}));
        const auto step = tn::global_step(); // on ps 0
        const auto v = tn::variable("v", 0.0), w = tn::variable("w", 0.0);
        const auto x = tn::placeholder<double, tn::shape<>>("x");
        const auto loss = tn::square(v + w - 3.0) + (v + w) * x;

        const auto descent = tn::gradient_descent(0.01);
        std::unique_ptr<tn::sync_replicas> sync;
        if (kind != "asynchronous")
            sync = std::make_unique<tn::sync_replicas>(
                descent, tn::sync_replicas_options{.aggregate = kind == "synchronous" ? workers
                                                                : kind == "backup"    ? workers - 1
                                                                                      : 0,
                                                   .total = workers,
                                                   .replica = place.task});
        const tn::optimizer& how = sync ? static_cast<const tn::optimizer&>(*sync) : descent;
        const auto train = how.minimize(loss);

        std::vector<std::shared_ptr<tn::session_hook>> hooks{tn::stop_at_step(std::atoll(argv[3]))};
        if (sync) hooks.push_back(sync->hook());
        tn::monitored_session sess({.target = self.target(),
                                    .session = {.operation_timeout = 60, .device_filters = {"/job:ps", own}},
                                    .is_chief = place.task == 0,
                                    .chief_lease = 1,
                                    .checkpoint = "model",
                                    .save_every = {.steps = 50},
                                    .recovery_timeout = 30,
                                    .hooks = hooks,
                                    .log = [](const std::string& line) {
                                        std::printf("%s\n", line.c_str());
                                        std::fflush(stdout);
                                    }});
        std::mt19937 random(static_cast<unsigned>(place.task));
        std::normal_distribution<double> normal;
        std::int64_t done = 0;
        sess.loop([&] {
            sess.run(tn::feed(x, normal(random)), train);
            if (++done % 200 != 0) return;
            std::printf("has run %lld\n", static_cast<long long>(done));
            std::fflush(stdout);
            if (!file.empty() && std::filesystem::exists(file)) sess.request_stop();
        });
        {
            std::unique_ptr<tn::sync_replicas::pause> still;
            if (sync) still = std::make_unique<tn::sync_replicas::pause>(sync->between_steps(sess.session()));
            const auto [is_w, is_v, steps] = sess.session().run(w, v, step);
            std::printf("after step %lld: %s, %s, in %d sessions\n", static_cast<long long>(steps()),
                        is_w() == is_v() ? "alike" : "they differ",
                        std::abs(is_w() + is_v() - 3) < 0.5 ? "trained" : "not trained", sess.sessions_opened());
        }
        sess.close();
    } catch (const tn::error& e) {
        std::fprintf(stderr, "%s: %s\n", tn::name_of(e.code()), e.what());
        return 1;
    }
}
