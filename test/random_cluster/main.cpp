// Clusters in this process whose clients run steps while servers, clients and lines fail, from a seed; and the program of
// random_graphs that has that seed on such a cluster, without faults and with mild ones.
//
//   random_cluster [--seed N] [--count N] [--seconds S] [--only clients|graphs] [--lines N] [--keep-going]
//
// Seeds N, N + 1, ..; S simulated seconds of each. A seed that fails prints what happened, and how it is run again.

#include "random_cluster/graphs.hpp"
#include "random_cluster/world.hpp"
#include "seeds.hpp"

namespace {

class campaign {
public:
    bool read(int argc, char** argv) {
        seeds_.takes("--seconds", of_clients_.seconds);
        seeds_.takes("--lines", lines_);
        seeds_.takes("--only", only_);
        return seeds_.read(argc, argv);
    }

    int run() {
        for (; seeds_.go_on(); seeds_.next()) {
            if (only_ != "graphs") clients(seeds_.seed);
            if (only_ != "clients") {
                graphs(seeds_.seed, false);
                graphs(seeds_.seed, true);
            }
        }
        std::printf(
            "%llu seeds, %llu failures: %llu sessions, %llu steps (%llu done, %llu refused, %llu of unknown outcome), "
            "%llu faults; %llu programs; %llu events\n",
            number(seeds_.done), number(seeds_.failed), number(sums_.sessions), number(sums_.steps), number(sums_.done),
            number(sums_.refused), number(sums_.unknown), number(sums_.faults), number(programs_),
            number(sums_.events));
        return seeds_.failed != 0;
    }

private:
    void clients(std::uint64_t seed) {
        random_cluster::world w(seed, of_clients_);
        const std::string wrong = w.run();
        const auto& t = w.sums;
        sums_.sessions += t.sessions, sums_.steps += t.steps, sums_.done += t.done, sums_.refused += t.refused;
        sums_.unknown += t.unknown, sums_.faults += t.faults, sums_.events += t.events;
        if (!wrong.empty()) report(seed, "clients", wrong, w.history(lines_));
        if (seeds_.done > 0) return;
        // What happens depends on the seed alone, or no failure could be looked at again.
        random_cluster::world again(seed, of_clients_);
        if (again.run() != wrong || again.trace_hash() != w.trace_hash())
            report(seed, "clients", "it is not the same twice", again.history(lines_));
    }
    void graphs(std::uint64_t seed, bool faults) {
        ++programs_;
        const auto told = random_cluster::run_graphs(seed, faults, lines_);
        sums_.events += told.events;
        if (!told.wrong.empty()) report(seed, "graphs", told.wrong, told.history);
    }
    void report(std::uint64_t seed, const char* only, const std::string& wrong, const std::string& history) {
        ++seeds_.failed;
        if (!seeds_.keep_going) std::printf("%s\n", history.c_str());
        std::printf("FAILED: %s\nOnce more: random_cluster --count 1 --only %s --seed %llu\n", wrong.c_str(), only,
                    number(seed));
        std::fflush(stdout);
    }

    seeds seeds_{"random_cluster"};
    std::uint64_t lines_ = 100, programs_ = 0;
    std::string only_;
    random_cluster::settings of_clients_;
    random_cluster::world::totals sums_;
};

} // namespace

int main(int argc, char** argv) {
    campaign all;
    return all.read(argc, argv) ? all.run() : 2;
}
