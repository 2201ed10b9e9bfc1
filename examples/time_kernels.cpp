// What fusing is worth: a GELU as one expression, as three nodes, and as the loop that one would write, timed in turns.
//
//   time_kernels [SECONDS [REPORT.json]]    with a report of an earlier run: what has changed since

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/debug/benchmark.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

constexpr int n = 1 << 20;
using vector = tn::shape<n>;

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0.05;
    const auto x = tn::placeholder<float, vector>("x");
    const auto fused = x * tn::sigmoid(1.702f * x);
    const auto scaled = tn::identity(1.702f * x),
               gate = tn::identity(tn::sigmoid(scaled)); // nodes, for they have names
    const auto by_nodes = x * gate;

    tn::session sess;
    tn::array<float, vector> values;
    for (int i = 0; i < n; ++i) values(i) = static_cast<float>(i % 1000) / 100 - 5;
    const auto one = sess.callable(tn::feeds(x), tn::fetches(fused));
    const auto three = sess.callable(tn::feeds(x), tn::fetches(by_nodes));
    std::vector<float> by_hand(n);
    const auto loop = [&] {
        for (int i = 0; i < n; ++i)
            by_hand[static_cast<std::size_t>(i)] = values(i) / (1 + std::exp(-1.702f * values(i)));
    };

    const tn::benchmark_report report =
        tn::benchmark({{"fused, its kernel", sess.kernel_of(fused, tn::feed(x, values))},
                       {"fused, a step", [&] { (void)one(values); }},
                       {"three nodes, a step", [&] { (void)three(values); }},
                       {"by hand", loop, {.bytes = 8.0 * n, .operations = 5.0 * n}}},
                      {.seconds = seconds, .warm_up = seconds / 5});
    std::printf("%s", report.to_text().c_str());

    const auto [result] = one(values);
    for (int i = 0; i < n; ++i)
        if (std::abs(result(i) - by_hand[static_cast<std::size_t>(i)]) > 1e-5f) {
            std::printf("element %d is %g, by hand %g\n", i, static_cast<double>(result(i)),
                        static_cast<double>(by_hand[static_cast<std::size_t>(i)]));
            return 1;
        }
    if (argc < 3) return 0;
    const std::string path = argv[2];
    if (std::filesystem::exists(path))
        std::printf("\n%s", tn::compare(tn::benchmark_report::load(path), report).c_str());
    report.save(path);
}
