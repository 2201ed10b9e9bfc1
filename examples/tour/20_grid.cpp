// links: tenon::net
// One network a device: two of them on two devices of this program, beside one on one; then a grid of hyperparameters over all devices
// of a cluster, a network a device at a time, and the best three by validation. With a FILE the results are kept there, and the
// weights of the three beside it: a program that was killed, and is started again, trains what it had not ended; 21_ensemble takes
// the three from there. Prints
//
//     20_grid [FILE]
//
//     1 network on 1 device: ...
//     2 networks on 2 devices: ...
//     a grid of rate: 0.1, 0.03, 0.01, 0.003; hidden: 4, 16, 32 on
//       /job:worker/replica:0/task:0/device:CPU:0
//       /job:worker/replica:0/task:1/device:CPU:0
//       /job:worker/replica:0/task:2/device:CPU:0
//     12 of 12 done; best 0.9...
//     1. rate=...
//     2. rate=...
//     3. rate=...
#include <tenon/net/net.hpp>
#include <tenon/models.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "shared/local_cluster.hpp"
#include "shared/spirals.hpp"

namespace tn = tenon;

namespace {

// Seconds that n networks take on n devices, each with a thread.
double seconds_for(int n) {
    tn::task_options o{.cpu_devices = n};
    o.intra_op_threads = 1; // a device is a core here, so one network is one's work
    std::vector<float> rates(static_cast<std::size_t>(n), 0.01f);
    for (std::size_t i = 0; i < rates.size(); ++i) rates[i] *= static_cast<float>(i + 1);
    tn::grid_search_options quiet{.log = [](const std::string&) {}};
    tn::grid_search networks(tn::grid(tn::axis("rate", &spirals::settings::rate, rates)), tn::devices_of(tn::task(o)),
                             quiet);
    const auto began = std::chrono::steady_clock::now();
    networks.run([](const spirals::settings& s, tn::trial& t) { spirals::train(s, t, 2000); });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

} // namespace

int main(int argc, char** argv) {
    const double one = seconds_for(1), two = seconds_for(2);
    std::printf("1 network on 1 device: %.2f s\n2 networks on 2 devices: %.2f s, %.2f of that\n", one, two, two / one);

    const local_cluster cluster({{"worker", 3}});
    const std::vector<tn::grid_device> devices = tn::devices_of(cluster.tasks(), {"worker"});
    const auto grid = spirals::grid();
    std::printf("a grid of %s on\n", grid.described().c_str());
    for (const tn::grid_device& d : devices) std::printf("  %s\n", to_string(d.name).c_str());

    tn::grid_search_options options{.name = "spirals"};
    if (argc > 1) options.file = argv[1];
    tn::grid_search search(grid, devices, options); // tells its progress on standard error
    search.run([](const spirals::settings& s, tn::trial& t) { spirals::train(s, t); });

    std::printf("%s\n", search.progress().text().c_str());
    int place = 0;
    for (const auto& r : search.best(3))
        std::printf("%d. %s: %.1f %% after %lld steps, on %s\n", ++place, r.text.c_str(), 100 * r.score,
                    static_cast<long long>(r.best_step), r.device.c_str());
    return 0;
}
