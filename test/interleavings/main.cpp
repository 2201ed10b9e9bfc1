// A few threads' steps on one task, in orders that seeds draw.
//
//   interleavings [--seed N] [--count N] [--seconds S] [--keep-going]   seeds N, N + 1, ..; as many, or as long
//   interleavings --replay N                                            one of them, and the program that it runs
//   interleavings --plant FAULT                                         what is wrong on purpose, which must be found
//
// The same seed gives the same order, so what fails fails again.

#include <set>

#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interleavings/endings.hpp"
#include "interleavings/plants.hpp"
#include "interleavings/scheduler.hpp"
#include "random_queues/run.hpp"
#include "seeds.hpp"

namespace {

// Of one order, in memory that its process shares.
struct told {
    std::uint64_t changes = 0, fingerprint = 0;
    int run = 0; // phases with threads that the reference has looked at
};

// Many orders of a program; each third seed is of steps that are ended by others, and each third of limits that are met at any time.
bool is_of_endings(std::uint64_t seed) { return seed % 3 == 0; }
double limit_of(std::uint64_t seed) { return seed % 3 == 1 ? 20e-3 : 20e-6; }
random_queues::program program_of(std::uint64_t seed) { return random_queues::generate(seed / 30 + 1, true, true); }

// What is wrong. `plant`: in what is wrong on purpose; empty: in the library.
std::string run(std::uint64_t seed, const std::string& plant, told& t) {
    interleavings::now_running = "FAILED seed " + std::to_string(seed);
    constexpr double often[] = {0.02, 0.1, 0.3, 0.6};
    const interleavings::drawn_order order({.seed = seed, .changes = often[seed / 3 % 4]});
    std::string wrong;
    if (!plant.empty()) wrong = interleavings::plants().at(plant)();
    else if (is_of_endings(seed)) wrong = interleavings::run_endings(seed / 3);
    else {
        const random_queues::verdict v = random_queues::run(program_of(seed), limit_of(seed), true);
        wrong = v.wrong; // where one step's limit lets another go on, that may meet its own first
        t.run = v.together;
    }
    t.changes = order.changes();
    t.fingerprint = order.fingerprint();
    return wrong;
}

// In a process of its own, so that it is the same whatever ran before. False: it has failed, and said so.
bool passes(std::uint64_t seed, const std::string& plant, told& t) {
    t = {};
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const std::string wrong = run(seed, plant, t);
        if (!wrong.empty()) std::printf("FAILED seed %llu: %s", static_cast<unsigned long long>(seed), wrong.c_str());
        std::fflush(stdout);
        _exit(!wrong.empty());
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        std::printf("FAILED seed %llu: it ends by signal %d\n", static_cast<unsigned long long>(seed),
                    WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

int main(int argc, char** argv) {
    // Some orders are by address, so these are the same each time.
    if (const int now = personality(0xffffffff); now >= 0 && !(now & ADDR_NO_RANDOMIZE))
        if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0) execv("/proc/self/exe", argv);
    seeds all("interleavings");
    bool replay = false;
    std::string plant;
    all.takes("--plant", plant);
    all.takes("--replay", [&](const char* value) {
        all.seed = std::strtoull(value, nullptr, 10);
        all.count = 1;
        replay = true;
    });
    if (!all.read(argc, argv)) return 2;
    if (!plant.empty() && !interleavings::plants().contains(plant)) {
        std::fprintf(stderr, "interleavings: there is no fault %s to plant\n", plant.c_str());
        return 2;
    }
    if (replay && !is_of_endings(all.seed)) std::printf("%s", to_string(program_of(all.seed)).c_str());
    auto* const t =
        static_cast<told*>(mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (t == MAP_FAILED) return 2;

    std::uint64_t changes = 0, together = 0;
    std::set<std::uint64_t> orders;
    for (; all.go_on(); all.next()) {
        if (!passes(all.seed, plant, *t)) ++all.failed;
        changes += t->changes;
        together += static_cast<std::uint64_t>(t->run);
        orders.insert(t->fingerprint);
    }
    std::printf("%llu orders (%zu different, %.0f changes of threads each), %llu looked up, %llu failed\n",
                number(all.done), orders.size(),
                all.done > 0 ? static_cast<double>(changes) / static_cast<double>(all.done) : 0.0, number(together),
                number(all.failed));
    return plant.empty() == (all.failed != 0);
}
