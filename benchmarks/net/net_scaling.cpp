// How far training on parameter servers scales, by the simulator with this machine's costs: steps a second and bytes of the MLP
// 784-300-100-10 and of a transformer of 108 million parameters, asynchronous, for 1 to 1,000 workers and 1 to 100 parameter
// servers, over networks like this machine's loopback and over Ethernet, and what saturates first, from how many workers.
//
// The costs are measured here first, and the messages of a step are recorded from real servers and compared with those that are
// simulated. Beside what the simulator says of two parameter servers with one worker and with two stands what they do.
//
//   net_scaling [--rounds N] [--seconds S] [--threads N] [--only TEXT] [--assume COST=VALUE]...
//
// --only takes the rows whose model, network and placement contain the text. --assume replaces a measured cost:
//   cores; message, step, beside, wake, mlp_step (seconds); pull_byte, push_byte, update_byte (seconds a byte, of all sizes);
//   pull_stream, push_stream (bytes a second, of all sizes); operations (a second)

#include <atomic>
#include <map>

#include "scaling/measuring.hpp"

namespace {

using namespace scaling;

struct ceiling {
    std::string of;
    double steps_per_second;
};

// What the busiest of each kind could do if it did nothing else. A worker by itself is known from its own simulation.
std::vector<ceiling> ceilings(const model& m, const costs& c, const network& n, int ps, placing how) {
    const auto pieces = place(m, ps, how);
    const int counter = counter_of(pieces, ps, how);
    std::vector<double> largest(static_cast<std::size_t>(ps), 0); // piece of each
    for (const auto& l : pieces)
        for (const piece& p : l) {
            double& here = largest[static_cast<std::size_t>(p.ps)];
            here = std::max(here, p.bytes);
        }
    const double infinity = std::numeric_limits<double>::infinity();
    ceiling card{"", infinity}, cores{"", infinity}, variable{"updates of one variable", infinity};
    for (int p = 0; p < ps; ++p) {
        const step_messages to = to_and_from(pieces, p, p == counter, true),
                            from = to_and_from(pieces, p, p == counter, false);
        const double most = largest[static_cast<std::size_t>(p)];
        const std::string whose = how != placing::partitioned && most > 0.8 * to.bytes
                                      ? " of the server of the largest variable"
                                      : " of a server";
        const auto lower = [&](ceiling& least, const char* what, double seconds) {
            if (seconds > 0 && 1 / seconds < least.steps_per_second) least = {what + whose, 1 / seconds};
        };
        lower(card, "card", std::max(to.bytes + 120 * to.messages, from.bytes + 120 * from.messages) / n.card);
        lower(cores, "cores",
              ((to.messages + from.messages) * c.message / 2 +
               to.bytes * ((c.pull_byte + c.push_byte) / 2 + c.update_byte)) /
                  c.cores);
        variable.steps_per_second = std::min(variable.steps_per_second, 1 / (most * c.update_byte));
    }
    return {card, cores, variable};
}

struct row {
    model trained;
    costs each;
    network over;
    placing how;
    int ps;
    std::vector<training_result> found; // by numbers of workers
};
constexpr int workers[] = {1, 10, 100, 1000};

void simulate(row& r) {
    double least = std::numeric_limits<double>::infinity();
    for (const ceiling& c : ceilings(r.trained, r.each, r.over, r.ps, r.how))
        least = std::min(least, c.steps_per_second);
    double alone = 1;
    for (const int w : workers) {
        simulated_training t(r.trained, r.each, r.over, r.ps, w, r.how);
        // They begin within the time that a step takes where there are so many, so that they are spread over its phases.
        const double cycle = r.found.empty() ? 0 : std::max(1 / alone, w / least);
        // Measured is a round of all of them at least: they may come in waves.
        r.found.push_back(t.run(cycle, w + 5, std::max(w, 20)));
        if (w == 1) alone = r.found.back().steps_per_second;
    }
}

// Three digits of it: "0.292", "4.3", "7,930".
std::string three_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    if (value < 999.5) return text;
    std::snprintf(text, sizeof text, "%.0f", std::atof(text));
    std::string all = text;
    for (std::size_t at = all.size() - 3; at > 0 && at < all.size(); at -= std::min<std::size_t>(at, 3))
        all.insert(at, ",");
    return all;
}

// False where the simulation did more than can be done.
bool tell(const row& r) {
    const double alone = r.found[0].steps_per_second;
    ceiling lowest{"", std::numeric_limits<double>::infinity()};
    for (const ceiling& c : ceilings(r.trained, r.each, r.over, r.ps, r.how))
        if (c.steps_per_second < lowest.steps_per_second) lowest = c;
    const double from = lowest.steps_per_second / alone;
    std::printf("| %s | %s | %d |", r.over.name.c_str(), name_of(r.how), r.ps);
    for (const training_result& t : r.found) std::printf(" %s |", three_digits(t.steps_per_second).c_str());
    std::printf(" %s |", three_digits(r.found.back().steps_per_second * 2 * r.trained.bytes() / 1e9).c_str());
    const double most = r.found.back().steps_per_second;
    if (from > 1000)
        std::printf(" none: a worker is %s | |", r.found[0].worker_card > 0.5 ? "its card" : "its own time");
    else
        std::printf(" %s, %s | %.0f |", lowest.of.c_str(), three_digits(lowest.steps_per_second).c_str(),
                    std::max(1.0, std::ceil(from)));
    const bool possible = most <= 1.05 * lowest.steps_per_second;
    std::printf("%s\n", possible ? "" : " more than is possible");
    std::fflush(stdout);
    return possible;
}

void print_costs(const char* of, const costs& c) {
    std::printf("  %-19s a byte read %.2f, sent as a gradient %.2f, updated %.2f ns of a core; over one connection "
                "%.2f, %.2f GB/s\n",
                of, c.pull_byte * 1e9, c.push_byte * 1e9, c.update_byte * 1e9, c.pull_stream / 1e9,
                c.push_stream / 1e9);
}

struct arguments {
    int rounds = 7, threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    double seconds = 1;
    std::string only;
    std::map<std::string, double> assumed;
};

int wrong(const char* what) {
    std::fprintf(
        stderr,
        "net_scaling: %s; there are --rounds N, --seconds S, --threads N, --only TEXT and --assume COST=VALUE with "
        "cores, message, step, beside, wake, mlp_step, pull_byte, push_byte, pull_stream, push_stream, update_byte, "
        "operations\n",
        what);
    return 2;
}

} // namespace

int main(int argc, char** argv) {
    arguments a;
    for (int i = 1; i < argc; ++i) {
        const std::string is = argv[i];
        if (i + 1 == argc) return wrong((is + " has no value").c_str());
        const std::string value = argv[++i];
        const std::size_t equals = value.find('=');
        if (is == "--rounds") a.rounds = std::max(1, std::atoi(value.c_str()));
        else if (is == "--seconds") a.seconds = std::max(0.1, std::atof(value.c_str()));
        else if (is == "--threads") a.threads = std::max(1, std::atoi(value.c_str()));
        else if (is == "--only") a.only = value;
        else if (is == "--assume" && equals != std::string::npos)
            a.assumed[value.substr(0, equals)] = std::atof(value.c_str() + equals + 1);
        else return wrong(("unknown argument " + is).c_str());
    }

    auto& recorded = *new recorded_cluster(2, 2);
    const cluster_training::tasks t(2, 2, {.shared_memory = false}); // the machines that are simulated are apart
    measured_costs all = measure(recorded, t, a.rounds);
    std::vector<double> here, one, two, cores;
    for (int r = 0; r < a.rounds; ++r) {
        here.push_back(cluster_training::train(nullptr, 1, a.seconds));
        one.push_back(cluster_training::train(&t, 1, a.seconds));
        {
            cluster_training::mlp_worker by(&t.cluster, 0, t.all.at({"worker", 0}).target());
            cores.push_back(time_of(1, 200, [&] { by.step(); }).cores);
        }
        two.push_back(cluster_training::train(&t, 2, a.seconds));
    }
    all.mlp_step = 1 / cluster_training::median(here);
    for (const auto& [name, value] : a.assumed) {
        if (!(value > 0)) return wrong((name + " has to be more than 0").c_str());
        for (costs* c : {&all.small, &all.large}) {
            if (name == "cores") c->cores = static_cast<int>(value);
            else if (name == "message") c->message = value;
            else if (name == "step") c->step = value;
            else if (name == "wake") c->wake = value;
            else if (name == "beside") c->beside = value;
            else if (name == "pull_byte") c->pull_byte = value;
            else if (name == "push_byte") c->push_byte = value;
            else if (name == "update_byte") c->update_byte = value;
            else if (name == "pull_stream") c->pull_stream = value;
            else if (name == "push_stream") c->push_stream = value;
            else if (name == "mlp_step") all.mlp_step = value;
            else if (name == "operations") all.operations = value;
            else return wrong(("no cost is called " + name).c_str());
        }
    }
    for (costs* c : {&all.small, &all.large}) c->message *= all.message_factor;

    model small = mlp(), large = transformer();
    small.compute = all.mlp_step - small.bytes() * all.small.update_byte / all.small.cores;
    const double operations = large.compute;
    const network shared{"this machine", std::numeric_limits<double>::infinity(), 0, true};
    const double of_cores = cluster_training::median(cores);
    if (!a.assumed.contains("beside")) {
        simulated_training s(small, all.small, shared, 2, 1, placing::round_robin);
        all.small.beside = all.large.beside = std::max(0.0, of_cores - s.run(1e-3, 50, 500).cores_per_step);
    }
    std::printf("costs: %d cores; a message %.1f us, a step %.1f and besides %.0f us of a core, %.1f us to wake a "
                "thread; the MLP's step "
                "in one process %.3f ms, %.0f GFLOP/s\n",
                all.small.cores, all.small.message * 1e6, all.small.step * 1e6, all.small.beside * 1e6,
                all.small.wake * 1e6, all.mlp_step * 1e3, all.operations / 1e9);
    print_costs("variables of 1 MB:", all.small);
    print_costs("variables of 64 MB:", all.large);

    for (const int w : {1, 2}) {
        simulated_training s(small, all.small, shared, 2, w, placing::round_robin);
        const training_result r = s.run(1e-3, 50, 500);
        const double is = cluster_training::median(w == 1 ? one : two);
        std::printf(
            "MLP, 2 parameter servers, %d worker%s, all on this machine: %.0f steps/s simulated, %.0f measured, ratio "
            "%.2f; a step takes %.2f ms of cores simulated",
            w, w > 1 ? "s" : "", r.steps_per_second, is, r.steps_per_second / is, r.cores_per_step * 1e3);
        if (w == 1) std::printf(", %.2f measured", of_cores * 1e3);
        std::printf("\n");
    }

    // Assumed: cards and latencies of Ethernet through a switch; a message costs the cores there what it does on loopback.
    const network networks[] = {
        {"loopback", std::numeric_limits<double>::infinity(), 0, false},
        {"10 Gbit/s, 25 us", 1.25e9, 25e-6, false},
        {"100 Gbit/s, 10 us", 12.5e9, 10e-6, false},
    };
    model on_cores = large, on_accelerators = large;
    on_cores.name += ", workers as this machine";
    on_cores.compute = operations / all.operations;
    on_accelerators.name += ", workers of 50 TFLOP/s";
    on_accelerators.compute = operations / 50e12;
    std::vector<row> rows;
    for (const model& m : {small, on_cores, on_accelerators})
        for (const network& n : networks)
            for (const placing how : {placing::round_robin, placing::least_loaded, placing::partitioned})
                for (const int ps : {1, 2, 10, 100}) {
                    // Accelerators have a network; what computes for seconds does not need the fastest.
                    if (m.name == on_accelerators.name && !(n.latency > 0)) continue;
                    if (m.name == on_cores.name && n.card > 10e9 && std::isfinite(n.card)) continue;
                    if (ps == 1 && how != placing::round_robin) continue; // all the same
                    if ((m.name + " " + n.name + " " + name_of(how)).find(a.only) == std::string::npos) continue;
                    rows.push_back({m, m.name == small.name ? all.small : all.large, n, how, ps, {}});
                }
    std::vector<std::thread> threads;
    std::atomic<std::size_t> next{0};
    for (int i = 0; i < a.threads; ++i)
        threads.emplace_back([&] {
            for (std::size_t r = next++; r < rows.size(); r = next++) simulate(rows[r]);
        });
    for (std::thread& th : threads) th.join();
    bool possible = true;
    std::string name;
    for (const row& r : rows) {
        if (r.trained.name != name) {
            name = r.trained.name;
            std::printf("\n%s: %.2f MB in %zu variables, %.3g ms of arithmetic\n\n", name.c_str(),
                        r.trained.bytes() / 1e6, r.trained.variables(), r.trained.compute * 1e3);
            std::printf(
                "| network | placement | ps | 1 worker, steps/s | 10 | 100 | 1,000 | GB/s of 1,000 | saturates, at "
                "steps/s | from workers |\n|---|---|---|---|---|---|---|---|---|---|\n");
        }
        possible = tell(r) && possible;
    }
    std::fflush(stdout);
    std::_Exit(possible ? 0 : 1); // the recorded servers serve on
}
