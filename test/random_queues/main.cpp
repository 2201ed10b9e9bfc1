// Random programs with queues, compared with all that the reference says may happen.
//
//   random_queues [--overlap] [--seed N] [--count N] [--seconds S] [--keep-going]   seeds N, N + 1, ..; as many, or as long
//   random_queues [--overlap] --print N                                             the program of a seed
//
// --overlap: steps of several threads. A program that fails is made small, where it fails again, and printed.
// --limit S: of steps that may wait for ever, in seconds; 0.0002 shows without load what a slow machine does.

#include "random_queues/run.hpp"
#include "seeds.hpp"

namespace {

using namespace random_queues;

double limit = 0.02;
long once_more = 0; // because the machine may have been slow

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
    seeds all("random_queues");
    bool overlap = false, print = false;
    all.flag("--overlap", overlap);
    all.takes("--limit", limit);
    all.takes("--print", [&](const char* value) {
        all.seed = std::strtoull(value, nullptr, 10);
        print = true;
    });
    if (!all.read(argc, argv)) return 2;
    if (print) {
        std::printf("%s", to_string(generate(all.seed, overlap)).c_str());
        return 0;
    }
    long ran = 0, together = 0, passed_over = 0;
    for (; all.go_on(); all.next()) {
        all.tell_of_crashes();
        const program p = generate(all.seed, overlap);
        const verdict v = judge(p);
        ran += v.run;
        together += v.together;
        passed_over += v.passed_over;
        if (v.wrong.empty()) continue;
        ++all.failed;
        report(p, v, overlap ? 30 : 2);
    }
    std::printf(
        "%llu programs, %llu failed; %ld phases (%ld of several threads), %ld passed over; %ld runs with more time\n",
        number(all.done), number(all.failed), ran, together, passed_over, once_more);
    return all.failed != 0;
}
