// Random graphs, run in every kind of session and compared with the reference evaluator.
//
//   random_graphs [--seed N] [--count N] [--seconds S] [--keep-going]   seeds N, N + 1, ..; as many, or as long
//   random_graphs --replay FILE                                         a program that was printed, once more
//   random_graphs --print N                                             the program of a seed
//   random_graphs --crash N                                             makes small the program of a seed that crashes
//
// A program that fails is made small, and printed with what it was fed and fetched, as JSON that --replay reads.

#include <fstream>
#include <iterator>

#include <sys/wait.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

#include "random_graphs/compare.hpp"
#include "random_graphs/generator.hpp"
#include "random_graphs/shrink.hpp"
#include "seeds.hpp"

namespace {

using namespace random_graphs;

// The same failure, in its session, of the same kind.
std::string kind_of(const std::string& what) {
    for (const char* kind : {"applied in part", "applied although", "an error where there is none",
                             "an error of another kind", "no error where there is one", "none of tenon's",
                             "check_numerics", "cannot be read", "fetch of", "variable "})
        if (what.find(kind) != std::string::npos) return kind;
    return {};
}

void report(const program& p, const failure& f) {
    std::printf("FAILED seed %llu, session %s: %s\n", static_cast<unsigned long long>(p.seed), f.session.c_str(),
                f.what.c_str());
    std::fflush(stdout);
    program small = p;
    small.session = f.session;
    for (step& s : small.steps) s.cuts *= 10; // where it is cut is not the same each time
    const auto still = [&](const program& q) { return kind_of(run(q).what) == kind_of(f.what); };
    bool repeats = false;
    try {
        repeats = still(small);
    } catch (const tenon::error&) {
    }
    if (repeats) small = shrink(std::move(small), still);
    else std::printf("  (only on the graph as it was made in memory, or not every time: not made smaller)\n");
    if (repeats) std::printf("  made small: %s\n", run(small).what.c_str());
    std::printf("%s\n", to_json(small).c_str());
    std::fflush(stdout);
}

int replay(const char* path) {
    std::ifstream file(path);
    if (!file) {
        std::fprintf(stderr, "%s cannot be read\n", path);
        return 2;
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const failure f = run(program_from_json(text));
    std::printf("%s\n", f ? (f.session + ": " + f.what).c_str() : "passes");
    return f ? 1 : 0;
}

// The program that crashes its process, made small in processes of its own.
int shrink_crash(std::uint64_t seed) {
    const auto crashes = [](const program& p) {
        const pid_t child = fork();
        if (child == 0) {
            try {
                (void)run(p);
            } catch (const tenon::error&) {
            }
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WIFSIGNALED(status) != 0;
    };
    program p = generate(seed).made;
    for (const session_kind& k : every_session()) {
        p.session = k.name;
        if (!crashes(p)) continue;
        std::printf("session %s crashes\n%s\n", k.name.c_str(), to_json(shrink(p, crashes)).c_str());
        return 1;
    }
    std::printf("no session crashes on the program as it is read from JSON\n");
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    seeds all("random_graphs");
    std::string to_replay, crashing, printed;
    all.takes("--replay", to_replay);
    all.takes("--crash", crashing);
    all.takes("--print", printed);
    if (!all.read(argc, argv)) return 2;
    if (!to_replay.empty()) return replay(to_replay.c_str());
    if (!crashing.empty()) return shrink_crash(std::stoull(crashing));
    if (!printed.empty()) {
        std::printf("%s", to_json(generate(std::stoull(printed)).made).c_str());
        return 0;
    }
    for (; all.go_on(); all.next()) {
        all.tell_of_crashes();
        const generated g = generate(all.seed);
        const failure f = run(g.made, &g.written);
        if (!f) continue;
        ++all.failed;
        report(g.made, f);
    }
    std::printf("%llu programs, %llu failed\n", number(all.done), number(all.failed));
    return all.failed != 0;
}
