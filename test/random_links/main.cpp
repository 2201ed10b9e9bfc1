// Clusters of simulated hosts whose hosts call each other while connections, hosts and lines fail, from a seed.
//
//   random_links [--seed N] [--count N] [--seconds S] [--lines N] [--keep-going]    seeds N, N + 1, ..; S simulated seconds of each

#include <cstdio>
#include <cstdlib>
#include <string>

#include "random_links/world.hpp"

int main(int argc, char** argv) {
    std::uint64_t seed = 1, count = 100, failed = 0;
    std::size_t lines = 200;
    bool keep_going = false;
    random_links::settings s;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
        if (option == "--keep-going") keep_going = true;
        else if (!value) {
            std::fprintf(stderr, "random_links: %s is no option, or lacks its value\n", option.c_str());
            return 2;
        } else if (option == "--seed") seed = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--count") count = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--seconds") s.seconds = std::strtod(argv[++i], nullptr);
        else if (option == "--lines") lines = std::strtoull(argv[++i], nullptr, 10);
        else {
            std::fprintf(stderr, "random_links: %s is no option\n", option.c_str());
            return 2;
        }
    }
    { // What happens depends on the seed alone, or no failure could be looked at again.
        random_links::world first(seed, s), again(seed, s);
        if (first.run() != again.run() || first.history(1000) != again.history(1000)) {
            std::printf("FAILED: seed %llu is not the same twice\n", static_cast<unsigned long long>(seed));
            return 1;
        }
    }
    random_links::world::totals all;
    for (std::uint64_t n = seed; n < seed + count; ++n) {
        random_links::world w(n, s);
        const std::string wrong = w.run();
        const auto& t = w.sums();
        all.calls += t.calls, all.notes += t.notes, all.succeeded += t.succeeded, all.unavailable += t.unavailable;
        all.aborted += t.aborted, all.late += t.late, all.cancelled += t.cancelled, all.events += t.events,
            all.restarts += t.restarts;
        if (wrong.empty()) continue;
        ++failed;
        if (!keep_going)
            std::printf("%s\nFAILED: %s\nOnce more: random_links --count 1 --seed %llu\n", w.history(lines).c_str(),
                        wrong.c_str(), static_cast<unsigned long long>(n));
        else std::printf("FAILED seed %llu: %s\n", static_cast<unsigned long long>(n), wrong.c_str());
        if (!keep_going) return 1;
    }
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf("%llu seeds, %llu failed: %llu calls (%llu answered, %llu unavailable, %llu aborted, %llu late, %llu "
                "cancelled), %llu "
                "notes, %llu restarts, %llu events\n",
                number(count), number(failed), number(all.calls), number(all.succeeded), number(all.unavailable),
                number(all.aborted), number(all.late), number(all.cancelled), number(all.notes), number(all.restarts),
                number(all.events));
    return failed != 0;
}
