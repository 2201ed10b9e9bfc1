// What planning takes beside building the graph: graphs of 10,000 and 20,000 nodes of several kinds. The first report of a
// step plans it; that time, without what the report itself takes, should be at most twice that of building the graph, and
// at most 2.2 times as long for twice the nodes. Times are those of the thread, which does all of it, so that what else runs on the machine
// matters little. Of steps of many segments also the first run, in which the segments whose sizes are known late are planned, and the second.
// Then what large graphs take: a chain of 100,000 nodes with its gradient, 4,000 variables under Adam,
// and 1,000,000 nodes with gradients and updates.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/shape/selection.hpp>

#include "models.hpp"
#include "timing.hpp"

namespace tn = tenon;

namespace {

using square = tn::shape<16, 16>;
using matrix = tn::tensor<float, square>;

// What a step is asked for.
struct wanted {
    tn::any_tensor fetch;
    tn::operation target;
};

tn::variable_tensor<float, square> weights(const std::string& name) {
    return tn::variable<float, square>(name, tn::glorot_uniform(1));
}

// Dense layers with gradients and updates; the first layer's input is a variable too, so nothing is fed.
wanted training(int nodes) {
    matrix h = weights("x");
    for (int layer = 0; layer < nodes / 15; ++layer) {
        const auto w = weights("w" + std::to_string(layer));
        const auto b = tn::variable<float, tn::shape<16>>("b" + std::to_string(layer), tn::zeros());
        h = relu(tn::matmul(h, w) + b);
    }
    const auto loss = tn::mean(tn::square(h));
    return {loss, tn::gradient_descent(0.1).minimize(loss)};
}

// A chain whose nodes are each read twice, so that they stay nodes.
wanted elementwise_chain(int nodes) {
    matrix before = weights("x"), h = tanh(before);
    for (int i = 0; i < nodes - 4; ++i) {
        const matrix next = tanh(h) * before;
        before = h;
        h = next;
    }
    return {h, tn::group()};
}

wanted matmul_chain(int nodes) {
    const auto w = weights("w");
    matrix h = w;
    for (int i = 0; i < nodes / 2 - 2; ++i) h = tanh(tn::matmul(h, w));
    return {h, tn::group()};
}

// Branches of ten nodes that are joined pair by pair.
wanted branches(int nodes) {
    const auto w = weights("w");
    std::vector<matrix> ends;
    for (int branch = 0; branch < nodes / 10; ++branch) {
        matrix h = w * static_cast<float>(branch);
        for (int i = 0; i < 4; ++i) h = tanh(tn::matmul(h, w));
        ends.push_back(h);
    }
    while (ends.size() > 1) {
        std::vector<matrix> joined;
        for (std::size_t i = 0; i + 1 < ends.size(); i += 2) joined.push_back(ends[i] + ends[i + 1]);
        if (ends.size() % 2) joined.push_back(ends.back());
        ends = std::move(joined);
    }
    return {ends[0], tn::group()};
}

// Few variables, each read by a great many nodes and updated by a great many, all in one step.
wanted readers(int nodes) {
    constexpr int count = 8;
    std::vector<tn::variable_tensor<float, square>> v;
    for (int i = 0; i < count; ++i) v.push_back(weights("v" + std::to_string(i)));
    std::vector<tn::operation> updates;
    for (int i = 0; i < nodes / 4; ++i) {
        const auto at = static_cast<std::size_t>(i % count);
        const matrix y = tn::transpose<1, 0>(v[at] * static_cast<float>(i));
        updates.push_back(v[(at + 1) % count].assign_add(y).operation());
    }
    return {v[0], tn::group(updates)};
}

// Each is of a size that the one before tells: a chain of ops that wait, and of segments that are planned when they run.
wanted selections(int nodes) {
    using some = tn::tensor<float, tn::shape<tn::dyn>>;
    some h = tn::variable<float, tn::shape<8>>("x", tn::ones());
    for (int i = 0; i < nodes / 3; ++i) h = tn::boolean_mask<tn::dyn>(h, h > -1.0f) * 1.0f;
    return {h, tn::group()};
}

// Tables in parts, each of which is gathered from, and updated: ops that wait side by side, and a sum that comes after more and more.
wanted tables(int nodes) {
    tn::tensor<float, tn::shape<>> loss = tn::constant(0.0f);
    for (int i = 0; i < nodes / 100; ++i) {
        const auto t =
            tn::variable<float, tn::shape<16, 4>>("t" + std::to_string(i), tn::ones(), {.partition = {.parts = 4}});
        loss = loss + tn::mean(tn::square(gather(t, tn::constant({1, 9, 12}))));
    }
    return {loss, tn::gradient_descent(0.1).minimize(loss)};
}

struct times {
    double build = 0, plan = 0; // seconds
    std::int64_t nodes = 0;
    tn::step_report report;
};

double thread_time() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const auto& work) {
    const double begin = thread_time();
    work();
    return thread_time() - begin;
}

double resident_bytes() {
    std::ifstream f("/proc/self/statm");
    double all = 0, resident = 0;
    f >> all >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double peak_gigabytes() { // of the process, so the largest graph comes last
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_maxrss) / 1e6;
}

times measure(wanted (*build)(int), int nodes) {
    times result;
    const tn::graph g;
    const tn::graph_scope scope(g);
    wanted w;
    result.build = seconds([&] { w = build(nodes); });
    result.nodes = g.size();
    tn::session s(g);
    const auto report = [&] { result.report = s.report(w.fetch, w.target); };
    result.plan = seconds(report);
    result.plan -= seconds(report); // this one finds the plan, and takes the time to tell of it
    return result;
}

// The first run of a step whose segments are planned then, and the second.
void print_runs(const char* title, wanted (*build)(int)) {
    double first[2], second[2];
    for (int size = 0; size < 2; ++size) {
        const tn::graph g;
        const tn::graph_scope scope(g);
        const wanted w = build(10000 << size);
        tn::session s(g);
        s.run(tn::initialize_variables());
        (void)s.report(w.fetch, w.target);
        const auto run = [&] { (void)s.run_untyped({}, {w.fetch}, {w.target}); };
        first[size] = seconds(run);
        second[size] = seconds(run);
    }
    const auto line = [&](const char* which, const double* t) {
        std::printf("%-32s %15s %9.2f ms %9.2f ms %9.2f %9.2f\n", title, which, t[1] * 1e3, t[0] * 1e3, t[1] / t[0],
                    2.2);
    };
    line("first run", first);
    line("second run", second);
}

void print(const char* title, wanted (*build)(int)) {
    constexpr int rounds = 7;
    std::vector<double> builds[2], plans[2];
    times last[2];
    for (int round = 0; round < rounds; ++round)
        for (int size = 0; size < 2; ++size) {
            last[size] = measure(build, 10000 << size);
            builds[size].push_back(last[size].build);
            plans[size].push_back(last[size].plan);
        }
    for (int size = 0; size < 2; ++size)
        std::printf("%-32s %7lld %7d %9.2f ms %9.2f ms %9.2f %9.2f\n", title, static_cast<long long>(last[size].nodes),
                    last[size].report.nodes, timing::median(plans[size]) * 1e3, timing::median(builds[size]) * 1e3,
                    timing::median(plans[size]) / timing::median(builds[size]), 2.0);
    std::printf("%-32s %15s %9.2f ms %9.2f ms %9.2f %9.2f\n", "", "of twice the nodes", timing::median(plans[1]) * 1e3,
                timing::median(plans[0]) * 1e3, timing::median(plans[1]) / timing::median(plans[0]), 2.2);
}

// h = tanh(h) and its gradient: each h is kept until the gradient comes back.
wanted chain_with_gradient(int nodes) {
    const auto w = tn::variable<float, tn::shape<8>>("w", tn::ones());
    tn::tensor<float, tn::shape<8>> h = w;
    for (int i = 0; i < nodes / 2; ++i) h = tanh(h);
    return {tn::any_tensor(), tn::gradient_descent(0.1).minimize(tn::sum(h))};
}

void print_large(const char* title, wanted (*build)(int), int nodes) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    wanted w;
    const double built = seconds([&] { w = build(nodes); });
    tn::session s(g);
    tn::step_report r;
    const auto report = [&] { r = w.fetch.node() ? s.report(w.fetch, w.target) : s.report(w.target); };
    double planned = seconds(report);
    planned -= seconds(report);
    std::printf("%-32s %7lld %7d %9.2f s  %9.2f s  %9.2f %9.2f    peak %.2f GB\n", title,
                static_cast<long long>(g.size()), r.nodes, planned, built, planned / built, 2.0, peak_gigabytes());
}

void print_variables(int count) {
    const double before = resident_bytes();
    const tn::graph g;
    const tn::graph_scope scope(g);
    tn::tensor<float, tn::shape<>> loss = tn::constant(0.0f);
    for (int i = 0; i < count; ++i) loss = loss + tn::square(tn::variable("v" + std::to_string(i), 1.0f));
    const auto train = tn::adam(0.1).minimize(loss);
    tn::session s;
    s.run(tn::initialize_variables());
    s.run(train);
    std::printf("%d scalar variables under Adam, initialised and trained: %.1f KB each (target: 60)\n", count,
                (resident_bytes() - before) / 1e3 / count);
}

} // namespace

int main(int argc, char** argv) {
    const std::pair<const char*, wanted (*)(int)> kinds[] = {{"training", training},
                                                             {"chain, elementwise", elementwise_chain},
                                                             {"chain, products", matmul_chain},
                                                             {"branches", branches},
                                                             {"many readers, many updates", readers},
                                                             {"selections, one after another", selections},
                                                             {"tables in parts", tables}};
    std::printf("%-32s %7s %7s %12s %12s %9s %9s\n", "", "nodes", "kernels", "plan", "build", "ratio", "target");
    for (const auto& [title, build] : kinds)
        if (argc < 2 || std::string(title).find(argv[1]) != std::string::npos) {
            print(title, build);
            if (build == selections || build == tables) print_runs(title, build);
        }
    if (argc > 1 && std::string(argv[1]) != "large") return 0;
    print_variables(4000);
    print_large("chain of 100,000 with gradient", chain_with_gradient, 200'000);
    print_large("training, a million nodes", training, 1'000'000);
}
