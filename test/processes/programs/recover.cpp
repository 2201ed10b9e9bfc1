// A task of a cluster, for tests of real processes: a worker that trains w = 3 for so many steps, through the loss of parameter
// servers and of the chief, which worker 0 is at first, with a checkpoint every 20 steps below the folder TENON_FILES.
//
//   recover STEPS
#include <cstdio>
#include <cstdlib>
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
        const auto placed = tn::on(tn::replica_device_setter(
            place.tasks, {.worker_device = tn::device_name("/job:worker/task:" + std::to_string(place.task))}));
        const auto w = tn::variable("w", 0.0f);
        const auto train = tn::gradient_descent(0.01).minimize(tn::square(w - 3.0f));
        const auto step = tn::global_step();
        tn::monitored_session sess(
            {.target = self.target(),
             .session = {.device_filters = {"/job:ps", "/job:worker/task:" + std::to_string(place.task)}},
             .is_chief = place.task == 0,
             .chief_lease = 1,
             .checkpoint = "model",
             .save_every = {.steps = 20},
             .recovery_timeout = 30,
             .hooks = {tn::stop_at_step(argc > 1 ? std::atoll(argv[1]) : 100)},
             .log = [](const std::string& line) {
                 std::printf("%s\n", line.c_str());
                 std::fflush(stdout);
             }});
        while (!sess.should_stop()) sess.run(train);
        const auto [value, steps] = sess.session().run(w, step);
        std::printf("trained %lld steps, w = %.3f, in %d sessions\n", static_cast<long long>(steps()),
                    static_cast<double>(value()), sess.sessions_opened());
        sess.close();
    } catch (const tn::error& e) {
        std::fprintf(stderr, "%s: %s\n", tn::name_of(e.code()), e.what());
        return 1;
    }
}
