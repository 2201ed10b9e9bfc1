#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

/// Two sides of a comparison, run in turns by Google Benchmark, and the ratio of their medians.

namespace ratio {

/// One row: `ours` and `theirs` are the names of two registered benchmarks. The speed is theirs / ours in time.
struct row {
    std::string title, ours, theirs;
    double target = 0; ///< speed to reach; 0: none
    double per = 1;    ///< what one iteration counts: elements, nodes, steps
    const char* unit = "ns";
};

/// Collects the time of every repetition; prints medians and ratios at the end.
class reporter : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context& c) override {
        PrintBasicContext(&GetErrorStream(), c);
        return true;
    }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& r : runs) {
            if (r.run_type != Run::RT_Iteration) continue;
            if (r.error_occurred) std::printf("%s: %s\n", r.run_name.function_name.c_str(), r.error_message.c_str());
            else
                times_[r.run_name.function_name].push_back(r.real_accumulated_time / static_cast<double>(r.iterations) *
                                                           1e9);
        }
    }
    double median(const std::string& name) const {
        const auto at = times_.find(name);
        if (at == times_.end()) return 0;
        std::vector<double> t = at->second;
        std::nth_element(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2), t.end());
        return t[t.size() / 2];
    }
    void print(const std::vector<row>& rows) const {
        std::printf("%-52s %12s %12s %9s %9s\n", "", "Tenon", "other", "speed", "target");
        for (const row& r : rows) {
            const double a = median(r.ours), b = r.theirs.empty() ? 0 : median(r.theirs);
            if (a == 0) continue;
            std::printf("%-52s %9.4g %-2s", r.title.c_str(), a / r.per, r.unit);
            if (b > 0) std::printf(" %9.4g %-2s %9.2f", b / r.per, r.unit, b / a);
            else std::printf(" %12s %9s", "-", "-");
            if (r.target > 0) std::printf(" %9.2f", r.target);
            std::printf("\n");
        }
    }

private:
    std::map<std::string, std::vector<double>> times_;
};

/// Runs what was registered, in turns, and prints the rows. Returns what was measured.
inline reporter measure(int argc, char** argv, const std::vector<row>& rows) {
    std::vector<char*> arguments(argv, argv + argc);
    std::string interleave = "--benchmark_enable_random_interleaving=true", repeat = "--benchmark_repetitions=9",
                time = "--benchmark_min_time=0.05";
    for (std::string* a : {&interleave, &repeat, &time}) arguments.insert(arguments.begin() + 1, a->data());
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    reporter r;
    benchmark::RunSpecifiedBenchmarks(&r);
    r.print(rows);
    return r;
}
inline int run(int argc, char** argv, const std::vector<row>& rows) {
    measure(argc, argv, rows);
    return 0;
}

} // namespace ratio
