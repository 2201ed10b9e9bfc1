// links: tenon::net
// Training that lives through a lost server. A parameter server holds the variables, a worker computes; both are tasks in this
// program, and could be anywhere. In mid-training the parameter server is stopped, with all that it holds, and started again on the
// same port. The monitored session opens a new session, restores the last checkpoint, and goes on; whoever runs steps does not
// notice.
//
//     session: initialised 2 variables
//     session: saved m-0.json
//     session: saved m-10.json
//     session: saved m-20.json
//     the parameter server is stopped after step 25, and started again
//     session: lost, and opened again
//     session: restored m-20.json
//     session: saved m-30.json
//     session: saved m-40.json
//     w = 0.9999 after 40 steps, in 2 sessions
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "shared/local_cluster.hpp"

namespace tn = tenon;

int main() {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("tenon-tour-25-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    tn::server_options options{.files = folder.string()};
    local_cluster cluster({{"ps", 1}, {"worker", 1}}, options);
    {
        const auto placed = tn::on(tn::replica_device_setter(cluster.tasks()));
        const auto w = tn::variable("w", 0.0f);
        const auto loss = tn::square(w - 1.0f);
        const auto train = tn::gradient_descent(0.1).minimize(loss);
        const auto step = tn::global_step();

        tn::monitored_session sess(
            {.target = cluster.target("worker", 0),
             .checkpoint = "m",
             .save_every = {.steps = 10},
             .hooks = {tn::stop_at_step(40)},
             .log = [](const std::string& line) { std::printf("%s\n", line.substr(0, line.find(": ", 9)).c_str()); }});
        for (bool lost = false; !sess.should_stop();) {
            sess.run(train);
            if (lost || sess.session().run(step)() != 25) continue;
            lost = true;
            std::printf("the parameter server is stopped after step 25, and started again\n");
            cluster.stop("ps", 0);
            cluster.start("ps", 0);
        }
        const auto [value, steps] = sess.session().run(w, step);
        std::printf("w = %.4f after %d steps, in %d sessions\n", static_cast<double>(value()),
                    static_cast<int>(steps()), sess.sessions_opened());
        sess.close();
    }
    std::filesystem::remove_all(folder);
}
