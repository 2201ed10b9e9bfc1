// Attention of 8 heads, of 512 and of 2048 queries and keys of 64 numbers, beside its formula in ops of their own, which makes all scores
// at once; alone, and with the gradients of queries, keys and values.

#include <cmath>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

#include "ratio.hpp"

namespace tn = tenon;

namespace {

constexpr int heads = 8, size = 64;

template <int Length, class Q> auto formula(const Q& q, const Q& k, const Q& v, bool causal) {
    const auto scores = tn::detail::as_tensor(tn::matmul<tn::transpose_b>(q * 0.125f, k));
    if (!causal) return tn::detail::as_tensor(tn::matmul(tn::softmax(scores), v));
    const auto number = tn::arange<std::int32_t, Length>();
    const auto seen = tn::expand_dims<0>(number) <= tn::expand_dims<1>(number);
    const auto weights = tn::softmax(tn::select(seen, scores, -INFINITY));
    return tn::detail::as_tensor(tn::matmul(weights, v));
}

struct way {
    bool fused, causal, gradients;
    int threads;
};

template <int Length> void run(benchmark::State& state, way w) {
    using sizes = tn::shape<heads, Length, size>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto q = tn::placeholder<float, sizes>("q"), k = tn::placeholder<float, sizes>("k"),
               v = tn::placeholder<float, sizes>("v"), dy = tn::placeholder<float, sizes>("dy");
    const auto y = w.fused ? tn::attention(q, k, v, {.causal = w.causal}) : formula<Length>(q, k, v, w.causal);
    const auto [dq, dk, dv] = tn::gradients(tn::sum(y * dy), q, k, v);
    tn::session s(g, {.intra_op_threads = w.threads, .use_per_session_threads = true});
    std::vector<tn::fed_value> fed;
    for (const tn::any_tensor& x : {tn::any_tensor(q), tn::any_tensor(k), tn::any_tensor(v), tn::any_tensor(dy)}) {
        tn::any_array a(tn::element_type::float32, sizes::extents);
        for (std::int64_t i = 0; i < a.elements(); ++i)
            a.data<float>()[i] = std::sin(static_cast<float>(i % 1000003 * static_cast<std::int64_t>(fed.size() + 2)));
        fed.push_back({x, std::move(a)});
    }
    const std::vector<tn::any_tensor> fetched =
        w.gradients ? std::vector<tn::any_tensor>{y, dq, dk, dv} : std::vector<tn::any_tensor>{y};
    for (auto _ : state) {
        std::vector<tn::fed_value> again;
        for (const tn::fed_value& f : fed) again.push_back({f.tensor, f.value.share()});
        benchmark::DoNotOptimize(s.run_untyped(std::move(again), fetched));
    }
}

template <int Length> void compare(std::vector<ratio::row>& rows, way w) {
    const std::string name = std::string(w.causal ? "causal, " : "") + std::to_string(Length) +
                             (w.gradients ? " with gradients, " : ", ") + std::to_string(w.threads) +
                             (w.threads == 1 ? " thread" : " threads");
    for (const bool fused : {true, false}) {
        w.fused = fused;
        benchmark::RegisterBenchmark((name + (fused ? "" : ", formula")).c_str(), [=](benchmark::State& s) {
            run<Length>(s, w);
        })->UseRealTime();
    }
    rows.push_back({"attention, " + name, name, name + ", formula", w.causal ? 1.5 : 1.0, 1e6, "ms"});
}

} // namespace

int main(int argc, char** argv) {
    std::vector<ratio::row> rows;
    for (const int threads : {1, 2})
        for (const bool gradients : {false, true})
            for (const bool causal : {false, true}) {
                compare<512>(rows, {true, causal, gradients, threads});
                compare<2048>(rows, {true, causal, gradients, threads});
            }
    return ratio::run(argc, argv, rows);
}
