#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

/// What Tenon's programs for benchmarks/peers/run.sh share: the command line, the clock and the line that is printed.

namespace peer_row {

/// Median seconds of one call, over at least half a second of calls in at least 9 rounds.
template <class F> double seconds(F&& call) {
    using clock = std::chrono::steady_clock;
    const auto time = [&](int n) {
        const auto begin = clock::now();
        for (int i = 0; i < n; ++i) call();
        return std::chrono::duration<double>(clock::now() - begin).count();
    };
    int n = 1;
    while (time(n) < 0.02 && n < 1 << 24) n *= 2;
    std::vector<double> rounds;
    double spent = 0;
    while (rounds.size() < 9 || (spent < 0.5 && rounds.size() < 1000)) {
        rounds.push_back(time(n));
        spent += rounds.back();
    }
    std::nth_element(rounds.begin(), rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2), rounds.end());
    return rounds[rounds.size() / 2] / n;
}

struct measured {
    double value;
    const char* unit;
};
using row = measured (*)(int threads);

/// PROGRAM --row NAME --threads N prints the row's line of JSON; PROGRAM --list the names.
inline int run(const char* program, int argc, char** argv, const std::map<std::string, row>& rows) {
    std::string name;
    int threads = 1;
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        if (a == "--list") {
            for (const auto& [n, f] : rows) std::puts(n.c_str());
            return 0;
        }
        if (a == "--row" && i + 1 < argc) name = argv[++i];
        else if (a == "--threads" && i + 1 < argc) threads = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr, "%s: unknown argument %s; there are --list, --row NAME, --threads N\n", program,
                         a.c_str());
            return 2;
        }
    }
    const auto at = rows.find(name);
    if (at == rows.end() || threads < 1) {
        std::fprintf(stderr, "%s: no row \"%s\" on %d threads; --list names the rows\n", program, name.c_str(),
                     threads);
        return 2;
    }
    const measured m = at->second(threads);
    std::printf("{\"row\": \"%s\", \"threads\": %d, \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(), threads,
                m.value, m.unit);
    return 0;
}

} // namespace peer_row
