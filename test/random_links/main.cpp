// Clusters of simulated hosts whose hosts call each other while connections, hosts and lines fail, from a seed.
//
//   random_links [--seed N] [--count N] [--seconds S] [--lines N] [--keep-going]    seeds N, N + 1, ..; S simulated seconds of each

#include "random_links/world.hpp"
#include "seeds.hpp"

int main(int argc, char** argv) {
    seeds all("random_links");
    std::uint64_t lines = 200;
    random_links::settings s;
    all.takes("--seconds", s.seconds);
    all.takes("--lines", lines);
    if (!all.read(argc, argv)) return 2;
    { // What happens depends on the seed alone, or no failure could be looked at again.
        random_links::world first(all.seed, s), again(all.seed, s);
        if (first.run() != again.run() || first.history(1000) != again.history(1000)) {
            std::printf("FAILED: seed %llu is not the same twice\n", number(all.seed));
            return 1;
        }
    }
    random_links::world::totals sums;
    for (; all.go_on(); all.next()) {
        random_links::world w(all.seed, s);
        const std::string wrong = w.run();
        const auto& t = w.sums();
        sums.calls += t.calls, sums.notes += t.notes, sums.succeeded += t.succeeded, sums.unavailable += t.unavailable;
        sums.aborted += t.aborted, sums.late += t.late, sums.cancelled += t.cancelled, sums.events += t.events,
            sums.restarts += t.restarts;
        if (wrong.empty()) continue;
        ++all.failed;
        if (!all.keep_going)
            std::printf("%s\nFAILED: %s\nOnce more: random_links --count 1 --seed %llu\n", w.history(lines).c_str(),
                        wrong.c_str(), number(all.seed));
        else std::printf("FAILED seed %llu: %s\n", number(all.seed), wrong.c_str());
    }
    std::printf("%llu seeds, %llu failed: %llu calls (%llu answered, %llu unavailable, %llu aborted, %llu late, %llu "
                "cancelled), %llu "
                "notes, %llu restarts, %llu events\n",
                number(all.done), number(all.failed), number(sums.calls), number(sums.succeeded),
                number(sums.unavailable), number(sums.aborted), number(sums.late), number(sums.cancelled),
                number(sums.notes), number(sums.restarts), number(sums.events));
    return all.failed != 0;
}
