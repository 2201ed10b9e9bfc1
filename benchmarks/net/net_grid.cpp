// TOUR 20: n networks on n devices beside one on one: the MLP 784-300-100-10, batch 50, of a search with a point a device, in this process
// and on tasks of a cluster. Where there are a core and more for each device, n should take at most 1.1 of one's time. Cores are
// shared with whatever else runs here, so that is told twice: by the clock, which means something where `cores` is n or more and they
// are idle; and by CPU seconds a network, which is what the networks cost each other and the search costs them.

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <tenon/net/net.hpp>
#include <tenon/nn/dense.hpp>
#include <tenon/nn/losses.hpp>
#include <tenon/nn/sequential.hpp>
#include <tenon/search/grid_search.hpp>

#include "models.hpp"
#include "timing.hpp"

namespace tn = tenon;

namespace {

constexpr int steps = 300, rounds = 9;

struct settings {
    int network = 0;
};

void train(const settings&, tn::trial& t) {
    const models::random_batch<tn::shape<50, 784>, 50> data;
    // On the device, as a training set is that fits.
    const auto x = tn::variable("x", tn::constant(data.images.share()), {.trainable = false});
    const auto y = tn::constant(data.labels.share());
    const auto logits =
        tn::nn::sequential(tn::nn::dense<300>(tn::nn::relu), tn::nn::dense<100>(tn::nn::relu), tn::nn::dense<10>())(x);
    const auto loss = tn::nn::cross_entropy(logits, y);
    const auto minimize = tn::gradient_descent(0.01f).minimize(loss);
    tn::session& sess = t.session();
    sess.run(tn::initialize_variables());
    const auto step = sess.callable(tn::feeds(), tn::fetches(minimize, loss));
    float last = 0;
    for (int i = 0; i < steps; ++i) last = std::get<0>(step()).item();
    (void)t.report(steps, static_cast<double>(-last));
}

struct cost {
    double clock = 0, cpu = 0; // seconds; of all networks together
};

cost cost_of(const std::vector<tn::grid_device>& devices) {
    std::vector<int> networks;
    for (int i = 0; i < static_cast<int>(devices.size()); ++i) networks.push_back(i);
    tn::grid_search_options o{.keep = 0, .log = [](const std::string&) {}};
    tn::grid_search search(tn::grid(tn::axis("network", &settings::network, networks)), devices, o);
    const double cpu = timing::core_seconds();
    const auto began = std::chrono::steady_clock::now();
    search.run(train);
    const cost c{std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(),
                 timing::core_seconds() - cpu};
    for (const auto& r : search.results())
        if (r.end != tn::trial_end::done) std::printf("a network has failed: %s\n", r.message.c_str());
    return c;
}

void compare(const char* title, const std::vector<tn::grid_device>& all) {
    const std::vector<tn::grid_device> one{all.front()};
    (void)cost_of(all); // warm
    std::vector<double> clock_one, clock_all, cpu_one, cpu_all;
    for (int i = 0; i < rounds; ++i) {
        const cost a = cost_of(one), b = cost_of(all);
        clock_one.push_back(a.clock);
        clock_all.push_back(b.clock);
        cpu_one.push_back(a.cpu);
        cpu_all.push_back(b.cpu / static_cast<double>(all.size()));
    }
    const double a = timing::median(cpu_one), b = timing::median(cpu_all), c = timing::median(clock_one),
                 d = timing::median(clock_all);
    std::printf("%-38s %8.3f %8.3f %7.2f | %8.3f %8.3f %7.2f\n", title, a, b, b / a, c, d, d / c);
    std::fflush(stdout);
}

tn::task task_with(int cpus) {
    tn::task_options o{.cpu_devices = cpus};
    o.intra_op_threads = 1; // a device is a core
    return tn::task(o);
}

} // namespace

int main() {
    std::printf("%u cores; a network: %d steps; target: 1.1\n%-38s %25s | %25s\n", std::thread::hardware_concurrency(),
                steps, "", "CPU seconds a network", "seconds by the clock");
    std::printf("%-38s %8s %8s %7s | %8s %8s %7s\n", "", "one", "of n", "ratio", "one", "n", "ratio");
    for (const int n : {2, 4})
        compare((std::to_string(n) + " CPU devices of one process").c_str(), tn::devices_of(task_with(n)));

    std::vector<std::string> at;
    {
        std::vector<tn::server> once;
        for (int i = 0; i < 4; ++i) {
            once.push_back(tn::server::create_local_server());
            at.push_back(once.back().address());
        }
    }
    const tn::cluster c({{"worker", at}});
    std::vector<tn::server> servers;
    for (int i = 0; i < 4; ++i) {
        tn::server_options o{.intra_op_threads = 1};
        servers.emplace_back(c, "worker", i, o);
    }
    const auto tasks = tn::devices_of(c);
    for (const int n : {2, 4})
        compare((std::to_string(n) + " tasks over tenon://").c_str(), {tasks.begin(), tasks.begin() + n});
    return 0;
}
