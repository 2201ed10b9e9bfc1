// Clusters in this process whose clients run steps while servers, clients and lines fail, from a seed; and the program of
// random_graphs that has that seed on such a cluster, without faults and with mild ones.
//
//   random_cluster [--seed N] [--count N] [--seconds S] [--only clients|graphs] [--lines N] [--keep-going]
//
// Seeds N, N + 1, ..; S simulated seconds of each. A seed that fails prints what happened, and how it is run again.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "random_cluster/graphs.hpp"
#include "random_cluster/world.hpp"

namespace {

struct options {
    std::uint64_t seed = 1, count = 100;
    std::size_t lines = 100;
    bool keep_going = false;
    std::string only;
    random_cluster::settings of_clients;
};

unsigned long long number(std::uint64_t n) { return n; }

class campaign {
public:
    explicit campaign(options o) : o_(std::move(o)) {}

    int run() {
        for (std::uint64_t seed = o_.seed; seed < o_.seed + o_.count && (o_.keep_going || failed_ == 0); ++seed) {
            if (o_.only != "graphs") clients(seed);
            if (o_.only != "clients") {
                graphs(seed, false);
                graphs(seed, true);
            }
        }
        std::printf(
            "%llu seeds, %llu failures: %llu sessions, %llu steps (%llu done, %llu refused, %llu of unknown outcome), "
            "%llu faults; %llu programs; %llu events\n",
            number(o_.count), number(failed_), number(sums_.sessions), number(sums_.steps), number(sums_.done),
            number(sums_.refused), number(sums_.unknown), number(sums_.faults), number(programs_),
            number(sums_.events));
        return failed_ != 0;
    }

private:
    void clients(std::uint64_t seed) {
        random_cluster::world w(seed, o_.of_clients);
        const std::string wrong = w.run();
        const auto& t = w.sums;
        sums_.sessions += t.sessions, sums_.steps += t.steps, sums_.done += t.done, sums_.refused += t.refused;
        sums_.unknown += t.unknown, sums_.faults += t.faults, sums_.events += t.events;
        if (!wrong.empty()) report(seed, "clients", wrong, w.history(o_.lines));
        if (seed != o_.seed) return;
        // What happens depends on the seed alone, or no failure could be looked at again.
        random_cluster::world again(seed, o_.of_clients);
        if (again.run() != wrong || again.trace_hash() != w.trace_hash())
            report(seed, "clients", "it is not the same twice", again.history(o_.lines));
    }
    void graphs(std::uint64_t seed, bool faults) {
        ++programs_;
        const auto told = random_cluster::run_graphs(seed, faults, o_.lines);
        sums_.events += told.events;
        if (!told.wrong.empty()) report(seed, "graphs", told.wrong, told.history);
    }
    void report(std::uint64_t seed, const char* only, const std::string& wrong, const std::string& history) {
        ++failed_;
        if (!o_.keep_going) std::printf("%s\n", history.c_str());
        std::printf("FAILED: %s\nOnce more: random_cluster --count 1 --only %s --seed %llu\n", wrong.c_str(), only,
                    number(seed));
        std::fflush(stdout);
    }

    const options o_;
    std::uint64_t failed_ = 0, programs_ = 0;
    random_cluster::world::totals sums_;
};

} // namespace

int main(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
        if (option == "--keep-going") o.keep_going = true;
        else if (!value) {
            std::fprintf(stderr, "random_cluster: %s is no option, or lacks its value\n", option.c_str());
            return 2;
        } else if (option == "--seed") o.seed = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--count") o.count = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--seconds") o.of_clients.seconds = std::strtod(argv[++i], nullptr);
        else if (option == "--lines") o.lines = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--only") o.only = argv[++i];
        else {
            std::fprintf(stderr, "random_cluster: %s is no option\n", option.c_str());
            return 2;
        }
    }
    return campaign(std::move(o)).run();
}
