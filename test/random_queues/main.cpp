// Random programs with queues, compared with all that the reference says may happen.
//
//   random_queues [--overlap] [--seed N] [--count N] [--seconds S] [--keep-going]   seeds N, N + 1, ..; as many, or as long
//   random_queues [--overlap] --print N                                             the program of a seed
//
// --overlap: steps of several threads. A program that fails is made small, where it fails again, and printed.
// --limit S: of steps that may wait for ever, in seconds; 0.0002 shows without load what a slow machine does.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <unistd.h>

#include "random_queues/run.hpp"

namespace {

using namespace random_queues;

double limit = 0.02;
long once_more = 0; // because the machine may have been slow

char now_running[64];

void say_where(int signal) {
    // What crashes says its seed; nothing else is safe here.
    const auto ignored = write(STDERR_FILENO, now_running, std::strlen(now_running));
    (void)ignored;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

// Where the machine may have been slow, with more time.
verdict judge(const program& p) {
    verdict v = run(p, limit);
    for (double longer = 50 * limit; v.slow && v.wrong.empty() && longer < 10; longer *= 4, ++once_more)
        v = run(p, longer);
    if (v.slow && v.wrong.empty()) v.wrong = "a step meets its limit that need not wait\n";
    return v;
}

void report(const program& p, const verdict& v, int tries) {
    std::printf("FAILED seed %llu: %s", static_cast<unsigned long long>(p.seed), v.wrong.c_str());
    std::fflush(stdout);
    verdict last;
    const auto fails = [&](const program& q) {
        for (int n = 0; n < tries; ++n)
            if (verdict w = judge(q); !w.wrong.empty()) {
                last = std::move(w);
                return true;
            }
        return false;
    };
    if (!fails(p)) std::printf("  (not every time: not made smaller)\n%s\n", to_string(p).c_str());
    else {
        const program small = shrink(p, fails);
        std::printf("  made small: %s%s\n", last.wrong.c_str(), to_string(small).c_str());
    }
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    std::uint64_t seed = 1, count = 0;
    double seconds = 0;
    bool keep_going = false, overlap = false, print = false;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
        if (option == "--keep-going") keep_going = true;
        else if (option == "--overlap") overlap = true;
        else if (!value) {
            std::fprintf(stderr, "random_queues: %s is no option, or lacks its value\n", option.c_str());
            return 2;
        } else if (option == "--seed") seed = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--count") count = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--seconds") seconds = std::strtod(argv[++i], nullptr);
        else if (option == "--limit") limit = std::strtod(argv[++i], nullptr);
        else if (option == "--print") {
            seed = std::strtoull(argv[++i], nullptr, 10);
            print = true;
        } else {
            std::fprintf(stderr, "random_queues: there is no option %s\n", option.c_str());
            return 2;
        }
    }
    if (print) {
        std::printf("%s", to_string(generate(seed, overlap)).c_str());
        return 0;
    }
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, say_where);
    if (count == 0 && seconds == 0) count = 100;

    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    std::uint64_t done = 0, failed = 0;
    long ran = 0, together = 0, passed_over = 0;
    for (; (count == 0 || done < count) && (seconds == 0 || passed() < seconds); ++done, ++seed) {
        std::snprintf(now_running, sizeof now_running, "random_queues: seed %llu ended so\n",
                      static_cast<unsigned long long>(seed));
        const program p = generate(seed, overlap);
        const verdict v = judge(p);
        ran += v.run;
        together += v.together;
        passed_over += v.passed_over;
        if (v.wrong.empty()) continue;
        ++failed;
        report(p, v, overlap ? 30 : 2);
        if (!keep_going) return 1;
    }
    std::printf(
        "%llu programs, %llu failed; %ld phases (%ld of several threads), %ld passed over; %ld runs with more time\n",
        static_cast<unsigned long long>(done), static_cast<unsigned long long>(failed), ran, together, passed_over,
        once_more);
    return failed != 0;
}
