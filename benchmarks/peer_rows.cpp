// Tenon's side of the rows that benchmarks/peers/run.sh measures on TensorFlow, PyTorch and JAX too.
//     peer_rows --row mlp_128 --threads 2   prints {"row": "mlp_128", "threads": 2, "value": 1234.5, "unit": "steps/s"}
//     peer_rows --list                      prints the rows' names

#define TENON_COMPILE_EXPRESSIONS 1 // the fused rows are about compiled kernels

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "models.hpp"

namespace tn = tenon;

namespace {

// Median seconds of one call, over at least half a second of calls in at least 9 rounds.
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

template <class S> tn::array<float, S> random_values() {
    tn::array<float, S> a;
    std::mt19937 r(3);
    std::uniform_real_distribution<float> u(-1, 1);
    for (float& v : a) v = u(r);
    return a;
}

measured two_nodes(int threads) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float>("x");
    const auto y = x + 1;
    const auto z = y * 2;
    tn::session s(g, models::with_threads(threads));
    const auto step = s.callable(tn::feeds(x), tn::fetches(z));
    const tn::array<float, tn::shape<>> one(1.0f);
    return {seconds([&] { step(one); }) * 1e6, "us"};
}

measured chain(int threads, bool gradient) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, tn::shape<8>>("x");
    tn::tensor<float, tn::shape<8>> h = x;
    for (int i = 0; i < 1000; ++i) h = tanh(h);
    tn::session s(g, models::with_threads(threads));
    const auto in = random_values<tn::shape<8>>();
    if (gradient) {
        const auto [dx] = tn::gradients(tn::sum(h), x);
        const auto step = s.callable(tn::feeds(x), tn::fetches(dx));
        return {seconds([&] { step(in); }) * 1e6, "ns a node"};
    }
    const auto step = s.callable(tn::feeds(x), tn::fetches(h));
    return {seconds([&] { step(in); }) * 1e6, "ns a node"};
}

measured fused(int threads, bool gradient) {
    using shape = tn::shape<100000>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto a = tn::placeholder<float, shape>("a"), b = tn::placeholder<float, shape>("b"),
               c = tn::placeholder<float, shape>("c"), x = tn::placeholder<float, shape>("x");
    const auto f = relu(a * x + b) * sigmoid(c - x);
    tn::session s(g, models::with_threads(threads));
    const auto va = random_values<shape>(), vb = va.copy(), vc = va.copy(), vx = va.copy();
    if (gradient) {
        const auto [da, db, dc, dx] = tn::gradients(tn::sum(f), a, b, c, x);
        const auto step = s.callable(tn::feeds(a, b, c, x), tn::fetches(f, da, db, dc, dx));
        return {seconds([&] { step(va, vb, vc, vx); }) * 1e9 / 1e5, "ns an element"};
    }
    const auto step = s.callable(tn::feeds(a, b, c, x), tn::fetches(f));
    return {seconds([&] { step(va, vb, vc, vx); }) * 1e9 / 1e5, "ns an element"};
}

template <int Batch> measured mlp(int threads) {
    models::mlp<Batch> m(threads);
    const models::random_batch<tn::shape<Batch, 784>, Batch> data;
    const auto step = m.session.callable(tn::feeds(m.x, m.y), tn::fetches(m.train, m.loss));
    return {1 / seconds([&] { step(data.images, data.labels); }), "steps/s"};
}

measured conv(int threads) {
    models::conv<64> m(threads);
    const models::random_batch<tn::shape<64, 28, 28, 1>, 64> data;
    const auto step = m.session.callable(tn::feeds(m.x, m.y), tn::fetches(m.train, m.loss));
    return {1 / seconds([&] { step(data.images, data.labels); }), "steps/s"};
}

template <int N> measured product(int threads) {
    using shape = tn::shape<N, N>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto a = tn::placeholder<float, shape>("a"), b = tn::placeholder<float, shape>("b");
    const auto c = tn::matmul(a, b);
    tn::session s(g, models::with_threads(threads));
    const auto step = s.callable(tn::feeds(a, b), tn::fetches(c));
    const auto va = random_values<shape>(), vb = va.copy();
    return {2.0 * N * N * N / seconds([&] { step(va, vb); }) / 1e9, "GFLOP/s"};
}

using row = measured (*)(int threads);
const std::map<std::string, row> rows = {
    {"two_nodes", two_nodes},
    {"chain", [](int t) { return chain(t, false); }},
    {"chain_gradient", [](int t) { return chain(t, true); }},
    {"fused", [](int t) { return fused(t, false); }},
    {"fused_gradient", [](int t) { return fused(t, true); }},
    {"mlp_50", mlp<50>},
    {"mlp_128", mlp<128>},
    {"conv_64", conv},
    {"matmul_64", product<64>},
    {"matmul_256", product<256>},
    {"matmul_1024", product<1024>},
};

} // namespace

int main(int argc, char** argv) {
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
            std::fprintf(stderr, "peer_rows: unknown argument %s; there are --list, --row NAME, --threads N\n",
                         a.c_str());
            return 2;
        }
    }
    const auto at = rows.find(name);
    if (at == rows.end() || threads < 1) {
        std::fprintf(stderr, "peer_rows: no row \"%s\" on %d threads; --list names the rows\n", name.c_str(), threads);
        return 2;
    }
    const measured m = at->second(threads);
    std::printf("{\"row\": \"%s\", \"threads\": %d, \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(), threads,
                m.value, m.unit);
}
