// Tenon's side of the rows that benchmarks/peers/run.sh measures on TensorFlow, PyTorch and JAX too.
//     peer_rows --row mlp_128 --threads 2   prints {"row": "mlp_128", "threads": 2, "value": 1234.5, "unit": "steps/s"}
//     peer_rows --list                      prints the rows' names

#define TENON_COMPILE_EXPRESSIONS 1 // the fused rows are about compiled kernels

#include <map>
#include <string>

#include <tenon/nn/normalization.hpp>
#include <tenon/nn/recurrent/recurrent.hpp>
#include <tenon/nn/transformer.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/flow/while_loop.hpp>
#include <tenon/ops/linear/einsum.hpp>
#include <tenon/ops/reduce/sort.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>

#include "models.hpp"
#include "peer_row.hpp"

namespace tn = tenon;

namespace {

using peer_row::measured;
using peer_row::seconds;

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

measured attention(int threads, bool gradient) {
    using shape = tn::shape<1, 8, 512, 64>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto q = tn::placeholder<float, shape>("q"), k = tn::placeholder<float, shape>("k"),
               v = tn::placeholder<float, shape>("v");
    const auto y = tn::attention(q, k, v);
    tn::session s(g, models::with_threads(threads));
    const auto a = random_values<shape>(), b = a.copy(), c = a.copy();
    if (gradient) {
        const auto [dq, dk, dv] = tn::gradients(tn::sum(y), q, k, v);
        const auto step = s.callable(tn::feeds(q, k, v), tn::fetches(y, dq, dk, dv));
        return {seconds([&] { step(a, b, c); }) * 1e6, "us"};
    }
    const auto step = s.callable(tn::feeds(q, k, v), tn::fetches(y));
    return {seconds([&] { step(a, b, c); }) * 1e6, "us"};
}

// A step of a five-point stencil.
measured stencil(int threads) {
    constexpr int n = 2048;
    using shape = tn::shape<n, n>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, shape>("x");
    constexpr tn::range inner{1, -1}, before{tn::unbounded, -2}, after{2, tn::unbounded};
    const auto y = tn::slice<inner, inner>(x) +
                   0.1f * (tn::slice<before, inner>(x) + tn::slice<after, inner>(x) + tn::slice<inner, before>(x) +
                           tn::slice<inner, after>(x) - 4.0f * tn::slice<inner, inner>(x));
    tn::session s(g, models::with_threads(threads));
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    const auto in = random_values<shape>();
    return {seconds([&] { step(in); }) * 1e6, "us"};
}

// 1,000 runs of x = x + 0.001 * (1 - x * x), of as many as a value says.
measured loop(int threads) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto start = tn::placeholder<float, tn::shape<64>>("start");
    const auto [n, x] =
        tn::while_loop([](const auto& i, const auto&) { return i < 1000; },
                       [](const auto& i, const auto& v) { return std::tuple(i + 1, v + 0.001f * (1.0f - v * v)); },
                       tn::constant(0), start);
    tn::session s(g, models::with_threads(threads));
    const auto step = s.callable(tn::feeds(start), tn::fetches(x));
    const auto in = random_values<tn::shape<64>>();
    return {seconds([&] { step(in); }) * 1e6, "us"};
}

measured sorted(int threads) {
    using shape = tn::shape<1000000>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, shape>("x");
    tn::session s(g, models::with_threads(threads));
    const auto step = s.callable(tn::feeds(x), tn::fetches(tn::sort(x)));
    const auto values = random_values<shape>();
    return {seconds([&] { step(values); }) * 1e6, "us"};
}

// A step of gradient descent of the squares of what a layer gives.
template <class S, class Layer> measured training_step(int threads, const Layer& layer) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, S>("x");
    const auto loss = tn::mean(square(layer(x)));
    const auto train = tn::gradient_descent(0.01).minimize(loss);
    tn::session s(g, models::with_threads(threads));
    s.run(tn::initialize_variables());
    const auto step = s.callable(tn::feeds(x), tn::fetches(train, loss));
    const auto in = random_values<S>();
    return {seconds([&] { step(in); }) * 1e6, "us"};
}

// 64 sequences of 128 steps, 256 features and units.
measured lstm(int threads) {
    return training_step<tn::shape<64, 128, 256>>(threads, tn::nn::all_steps(tn::nn::lstm<256>()));
}
measured batch_norm(int threads) {
    return training_step<tn::shape<64, 28, 28, 64>>(
        threads, [](const auto& x) { return tn::nn::batch_norm()(x, tn::nn::training); });
}
// 8 x 128 positions of width 256, 4 heads.
measured transformer(int threads) {
    return training_step<tn::shape<8, 128, 256>>(threads, tn::nn::transformer_block<4, 1024>({.causal = true}));
}

// Sums of 16 of 100,000 rows of 64 floats, for 1,024 bags; or a step of gradient descent of their squares.
measured embedding_bag(int threads, bool trains) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto ids = tn::placeholder<std::int32_t, tn::shape<1024, 16>>("ids");
    const auto table = tn::variable<float, tn::shape<100000, 64>>("table", tn::glorot_uniform(1));
    const auto bags = tn::sum<1>(tn::gather(table, ids));
    tn::session s(g, models::with_threads(threads));
    tn::array<std::int32_t, tn::shape<1024, 16>> in;
    std::mt19937 r(3);
    for (std::int32_t& i : in) i = static_cast<std::int32_t>(r() % 100000);
    if (trains) {
        const auto train = tn::gradient_descent(0.01).minimize(tn::sum(square(bags)));
        s.run(tn::initialize_variables());
        const auto step = s.callable(tn::feeds(ids), tn::fetches(train));
        return {seconds([&] { step(in); }) * 1e6, "us"};
    }
    s.run(tn::initialize_variables());
    const auto step = s.callable(tn::feeds(ids), tn::fetches(bags));
    return {seconds([&] { step(in); }) * 1e6, "us"};
}

// Scores of 8 heads in 8 sequences of 256 positions, kept position first.
measured einsum(int threads) {
    using shape = tn::shape<8, 256, 8, 64>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto q = tn::placeholder<float, shape>("q"), k = tn::placeholder<float, shape>("k");
    const auto y = tn::einsum<"bqhd,bkhd->bhqk">(q, k);
    tn::session s(g, models::with_threads(threads));
    const auto step = s.callable(tn::feeds(q, k), tn::fetches(y));
    const auto a = random_values<shape>(), b = a.copy();
    return {seconds([&] { step(a, b); }) * 1e6, "us"};
}

// A number of 4 million floats, and of as many others.
template <class F> measured sums(int threads, const F& loss_of) {
    using shape = tn::shape<1 << 22>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, shape>("x"), y = tn::placeholder<float, shape>("y");
    const auto loss = loss_of(x, y);
    tn::session s(g, models::with_threads(threads));
    const auto step = s.callable(tn::feeds(x, y), tn::fetches(loss));
    const auto a = random_values<shape>(), b = a.copy();
    return {seconds([&] { step(a, b); }) * 1e6, "us"};
}

const std::map<std::string, peer_row::row> rows = {
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
    {"attention", [](int t) { return attention(t, false); }},
    {"attention_gradient", [](int t) { return attention(t, true); }},
    {"stencil", stencil},
    {"loop", loop},
    {"sort_1000000", sorted},
    {"lstm_step", lstm},
    {"batch_norm_step", batch_norm},
    {"transformer_step", transformer},
    {"embedding_bag", [](int t) { return embedding_bag(t, false); }},
    {"embedding_bag_step", [](int t) { return embedding_bag(t, true); }},
    {"einsum", einsum},
    {"sum", [](int t) { return sums(t, [](const auto& x, const auto&) { return tn::sum(x); }); }},
    {"sum_abs", [](int t) { return sums(t, [](const auto& x, const auto&) { return tn::sum(abs(x)); }); }},
    {"mean_square",
     [](int t) { return sums(t, [](const auto& x, const auto& y) { return tn::mean(square(x - y)); }); }},
};

} // namespace

int main(int argc, char** argv) { return peer_row::run("peer_rows", argc, argv, rows); }
