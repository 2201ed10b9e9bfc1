// Tenon's side of the rows that benchmarks/peers/run.sh measures on TensorFlow, PyTorch and JAX too.
//     peer_rows --row mlp_128 --threads 2   prints {"row": "mlp_128", "threads": 2, "value": 1234.5, "unit": "steps/s"}
//     peer_rows --list                      prints the rows' names

#define TENON_COMPILE_EXPRESSIONS 1 // the fused rows are about compiled kernels

#include <map>
#include <string>
#include <tuple>

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

using namespace peer_row;

// Numbers of -1 .. 1; or rows of a table.
template <class T, class S> tn::array<T, S> random_values() {
    tn::array<T, S> a;
    std::mt19937 r(3);
    std::uniform_real_distribution<float> u(-1, 1);
    for (T& v : a)
        if constexpr (std::is_integral_v<T>) v = static_cast<T>(r() % 100000);
        else v = u(r);
    return a;
}

// Seconds of a step that is fed so many tensors of sizes S and fetches what `build` makes of them: a tensor, or a tuple of them.
template <class S, int Fed = 1, class T = float, class F> double step_of(int threads, const F& build) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    return [&]<int... I>(std::integer_sequence<int, I...>) {
        const std::tuple fed{tn::placeholder<T, S>("x" + std::to_string(I))...};
        const auto made = std::apply(build, fed);
        const auto fetched = [&] {
            if constexpr (requires { std::tuple_size<std::remove_cvref_t<decltype(made)>>::value; })
                return std::apply([](const auto&... f) { return tn::fetches(f...); }, made);
            else return tn::fetches(made);
        }();
        tn::session s(g, models::with_threads(threads));
        s.run(tn::initialize_variables());
        const auto step = s.callable(tn::feeds(std::get<I>(fed)...), fetched);
        const tn::array<T, S> values[] = {((void)I, random_values<T, S>())...};
        return seconds([&] { step(values[I]...); });
    }
    (std::make_integer_sequence<int, Fed>());
}
measured microseconds(double s) { return {s * 1e6, "us"}; }

measured two_nodes(int threads) {
    return microseconds(step_of<tn::shape<>>(threads, [](const auto& x) {
        const auto y = x + 1;
        return y * 2;
    }));
}

measured chain(int threads, bool gradient) {
    using eight = tn::shape<8>;
    const auto chained = [](const auto& x) {
        tn::tensor<float, eight> h = x;
        for (int i = 0; i < 1000; ++i) h = tanh(h);
        return h;
    };
    return {1e6 * (gradient
                       ? step_of<eight>(threads, [&](const auto& x) { return tn::gradients(tn::sum(chained(x)), x); })
                       : step_of<eight>(threads, chained)),
            "ns a node"};
}

measured fused(int threads, bool gradient) {
    using shape = tn::shape<100000>;
    const auto value = [](const auto& a, const auto& b, const auto& c, const auto& x) {
        return relu(a * x + b) * sigmoid(c - x);
    };
    const auto gradients = [&](const auto&... x) {
        const auto f = value(x...);
        return std::tuple_cat(std::tuple(f), tn::gradients(tn::sum(f), x...));
    };
    return {1e4 * (gradient ? step_of<shape, 4>(threads, gradients) : step_of<shape, 4>(threads, value)),
            "ns an element"};
}

template <class Model> measured training(int threads) {
    Model m(threads);
    const typename Model::batch data;
    const auto step = m.step();
    return {1 / seconds([&] { step(data.images, data.labels); }), "steps/s"};
}

template <int N> measured product(int threads) {
    const double took =
        step_of<tn::shape<N, N>, 2>(threads, [](const auto& a, const auto& b) { return tn::matmul(a, b); });
    return {2.0 * N * N * N / took / 1e9, "GFLOP/s"};
}

measured attention(int threads, bool gradient) {
    using shape = tn::shape<1, 8, 512, 64>;
    const auto value = [](const auto&... qkv) { return tn::attention(qkv...); };
    const auto gradients = [](const auto&... qkv) {
        const auto y = tn::attention(qkv...);
        return std::tuple_cat(std::tuple(y), tn::gradients(tn::sum(y), qkv...));
    };
    return microseconds(gradient ? step_of<shape, 3>(threads, gradients) : step_of<shape, 3>(threads, value));
}

// A step of a five-point stencil.
measured stencil(int threads) {
    constexpr tn::range inner{1, -1}, before{tn::unbounded, -2}, after{2, tn::unbounded};
    return microseconds(step_of<tn::shape<2048, 2048>>(threads, [=](const auto& x) {
        return tn::slice<inner, inner>(x) +
               0.1f * (tn::slice<before, inner>(x) + tn::slice<after, inner>(x) + tn::slice<inner, before>(x) +
                       tn::slice<inner, after>(x) - 4.0f * tn::slice<inner, inner>(x));
    }));
}

// 1,000 runs of x = x + 0.001 * (1 - x * x), of as many as a value says.
measured loop(int threads) {
    return microseconds(step_of<tn::shape<64>>(threads, [](const auto& start) {
        return std::get<1>(
            tn::while_loop([](const auto& i, const auto&) { return i < 1000; },
                           [](const auto& i, const auto& v) { return std::tuple(i + 1, v + 0.001f * (1.0f - v * v)); },
                           tn::constant(0), start));
    }));
}

measured sorted(int threads) {
    return microseconds(step_of<tn::shape<1000000>>(threads, [](const auto& x) { return tn::sort(x); }));
}

// A step of gradient descent of the squares of what a layer gives.
template <class S, class Layer> measured training_step(int threads, const Layer& layer) {
    return microseconds(step_of<S>(threads, [&](const auto& x) {
        const auto loss = tn::mean(square(layer(x)));
        return std::tuple(tn::gradient_descent(0.01).minimize(loss), loss);
    }));
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
    const auto bags = [](const auto& ids) {
        const auto table = tn::variable<float, tn::shape<100000, 64>>("table", tn::glorot_uniform(1));
        return tn::sum<1>(tn::gather(table, ids));
    };
    const auto train = [&](const auto& ids) { return tn::gradient_descent(0.01).minimize(tn::sum(square(bags(ids)))); };
    using shape = tn::shape<1024, 16>;
    return microseconds(trains ? step_of<shape, 1, std::int32_t>(threads, train)
                               : step_of<shape, 1, std::int32_t>(threads, bags));
}

// Scores of 8 heads in 8 sequences of 256 positions, kept position first.
measured einsum(int threads) {
    return microseconds(step_of<tn::shape<8, 256, 8, 64>, 2>(
        threads, [](const auto& q, const auto& k) { return tn::einsum<"bqhd,bkhd->bhqk">(q, k); }));
}

// A number of 4 million floats, and of as many others.
template <class F> measured sums(int threads, const F& loss_of) {
    return microseconds(step_of<tn::shape<1 << 22>, 2>(threads, loss_of));
}

const std::map<std::string, peer_row::row> rows = {
    {"two_nodes", two_nodes},
    {"chain", [](int t) { return chain(t, false); }},
    {"chain_gradient", [](int t) { return chain(t, true); }},
    {"fused", [](int t) { return fused(t, false); }},
    {"fused_gradient", [](int t) { return fused(t, true); }},
    {"mlp_50", training<models::mlp<50>>},
    {"mlp_128", training<models::mlp<128>>},
    {"conv_64", training<models::conv<64>>},
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
