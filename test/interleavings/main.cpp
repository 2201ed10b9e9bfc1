// A few threads' steps on one task, in orders that seeds draw.
//
//   interleavings [--seed N] [--count N] [--seconds S] [--keep-going]   seeds N, N + 1, ..; as many, or as long
//   interleavings --replay N                                            one of them, and the program that it runs
//   interleavings --plant FAULT                                         what is wrong on purpose, which must be found
//
// The same seed gives the same order, so what fails fails again.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interleavings/endings.hpp"
#include "interleavings/plants.hpp"
#include "interleavings/scheduler.hpp"
#include "random_queues/run.hpp"

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
    std::uint64_t seed = 1, count = 0;
    double seconds = 0;
    bool keep_going = false, replay = false;
    std::string plant;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "--keep-going") keep_going = true;
        else if (i + 1 == argc) {
            std::fprintf(stderr, "interleavings: %s is no option, or lacks its value\n", option.c_str());
            return 2;
        } else if (option == "--seed") seed = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--count") count = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--seconds") seconds = std::strtod(argv[++i], nullptr);
        else if (option == "--plant" && interleavings::plants().contains(argv[i + 1])) plant = argv[++i];
        else if (option == "--replay") {
            seed = std::strtoull(argv[++i], nullptr, 10);
            count = 1;
            replay = true;
        } else {
            std::fprintf(stderr, "interleavings: there is no option %s\n", option.c_str());
            return 2;
        }
    }
    if (count == 0 && seconds == 0) count = 100;
    if (replay && !is_of_endings(seed)) std::printf("%s", to_string(program_of(seed)).c_str());
    auto* const t =
        static_cast<told*>(mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (t == MAP_FAILED) return 2;

    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    std::uint64_t done = 0, failed = 0, changes = 0, together = 0;
    std::set<std::uint64_t> orders;
    for (; (count == 0 || done < count) && (seconds == 0 || passed() < seconds); ++done, ++seed) {
        const bool good = passes(seed, plant, *t);
        changes += t->changes;
        together += static_cast<std::uint64_t>(t->run);
        orders.insert(t->fingerprint);
        if (good) continue;
        ++failed;
        if (!keep_going) return plant.empty() ? 1 : 0;
    }
    std::printf("%llu orders (%zu different, %.0f changes of threads each), %llu looked up, %llu failed\n",
                static_cast<unsigned long long>(done), orders.size(),
                done > 0 ? static_cast<double>(changes) / static_cast<double>(done) : 0.0,
                static_cast<unsigned long long>(together), static_cast<unsigned long long>(failed));
    return plant.empty() == (failed != 0);
}
