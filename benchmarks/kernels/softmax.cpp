// Softmax, its losses and layer normalisation on tensors in memory, beside a copy of the same bytes (PERFORMANCE P8):
// what is read and what is written counts, so a backward pass, with two operands, is set beside a copy of half as much
// again. One thread, then two. Then the sizes of a small classifier's loss, in nanoseconds a step.

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/array/any_array.hpp>
#include <tenon/ops/rows/rows.hpp>

#include "ratio.hpp"

namespace tn = tenon;
namespace td = tenon::detail;

namespace {

constexpr std::int64_t elements = std::int64_t{3} << 23; // 96 MB of floats

// Three tensors of random numbers around 0, and one for results, whose pages are there.
struct tensors {
    tn::any_array x = filled(1), y = filled(2), g = filled(3), out = filled(4);
    static tn::any_array filled(unsigned seed) {
        tn::any_array a(tn::element_type::float32, {elements + elements / 2});
        std::minstd_rand r(seed);
        for (std::int64_t i = 0; i < a.elements(); ++i)
            a.data<float>()[i] = (static_cast<float>(r()) * 0x1p-31F - 0.5F) * 8;
        return a;
    }
};
tensors& memory() {
    static tensors t;
    return t;
}

void copy(benchmark::State& state, std::int64_t n, int threads) {
    const float* from = memory().x.data<float>();
    float* to = memory().out.data<float>();
    tn::thread_pool pool(threads);
    for (auto _ : state) {
        pool.parallel_for(n, n / threads, [&](std::int64_t begin, std::int64_t end) {
            std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
        });
        benchmark::ClobberMemory();
    }
}

// What is measured: rows of `classes`, together `elements` or `rows` of them.
struct work {
    std::int64_t rows, classes;
    tn::thread_pool* pool;
    std::vector<std::int32_t> labels;
    std::vector<float> loss, mean, factor, gamma, beta, dgamma, dbeta, partial, terms;

    work(std::int64_t r, std::int64_t c, tn::thread_pool* p) :
        rows(r),
        classes(c),
        pool(p),
        labels(static_cast<std::size_t>(r)),
        loss(labels.size()),
        mean(labels.size()),
        factor(labels.size()),
        gamma(static_cast<std::size_t>(c), 1.5F),
        beta(gamma),
        dgamma(gamma),
        dbeta(gamma),
        partial(static_cast<std::size_t>(td::layer_norm_partials(r) * 2 * c)),
        terms(static_cast<std::size_t>(td::softmax_terms<float>({1, c, r}, p->size()))) {
        for (std::size_t i = 0; i < labels.size(); ++i)
            labels[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % c);
    }
};
using step = std::function<void(work&, const float* x, const float* y, const float* g, float* out)>;

void softmax_along(work& w, const float* x, float* out, const td::axis_view& v, bool logarithm) {
    td::softmax_along(x, out, v, logarithm, w.terms.data(), w.pool->size(), w.pool);
}
void softmax(work& w, const float* x, const float*, const float*, float* out) {
    softmax_along(w, x, out, {w.rows, w.classes, 1}, false);
}
void log_softmax(work& w, const float* x, const float*, const float*, float* out) {
    softmax_along(w, x, out, {w.rows, w.classes, 1}, true);
}
void softmax_columns(work& w, const float* x, const float*, const float*, float* out) {
    softmax_along(w, x, out, {1, w.classes, w.rows}, false);
}
void softmax_backward(work& w, const float*, const float* y, const float* g, float* out) {
    td::softmax_backward_along(y, g, out, {w.rows, w.classes, 1}, false, w.pool);
}
void cross_entropy(work& w, const float* x, const float*, const float*, float* out) {
    td::sparse_cross_entropy<float>(x, {w.labels.data(), false}, w.loss.data(), out, w.rows, w.classes, w.pool);
}
void layer_norm(work& w, const float* x, const float*, const float*, float* out) {
    td::layer_norm<float>(x, {}, w.gamma.data(), w.beta.data(), out, w.mean.data(), w.factor.data(), w.rows, w.classes,
                          1e-5, w.pool);
}
void layer_norm_backward(work& w, const float* x, const float*, const float* g, float* out) {
    td::layer_norm_backward<float>(x, w.gamma.data(), g, w.mean.data(), w.factor.data(), nullptr, out, w.dgamma.data(),
                                   w.dbeta.data(), w.partial.data(), w.rows, w.classes, w.pool);
}

void run(benchmark::State& state, std::int64_t rows, std::int64_t classes, int threads, const step& s) {
    tn::thread_pool pool(threads);
    work w(rows, classes, &pool);
    tensors& m = memory();
    float* out = m.out.data<float>();
    layer_norm(w, m.x.data<float>(), nullptr, nullptr, out); // the statistics that its backward pass reads
    softmax(w, m.x.data<float>(), nullptr, nullptr, out);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += static_cast<double>(out[c]);
    if (!(std::fabs(sum - 1) < 1e-4)) {
        state.SkipWithError("a wrong result");
        return;
    }
    for (auto _ : state) {
        s(w, m.x.data<float>(), m.y.data<float>(), m.g.data<float>(), out);
        benchmark::ClobberMemory();
    }
}

} // namespace

int main(int argc, char** argv) {
    struct made {
        const char* name;
        step s;
        std::int64_t classes;
        bool backward;
    };
    const made all[] = {
        {"softmax, rows of 1000", softmax, 1000, false},
        {"softmax, rows of 100", softmax, 100, false},
        {"log_softmax, rows of 1000", log_softmax, 1000, false},
        {"softmax along axis 0 of 100", softmax_columns, 100, false},
        {"its gradient, rows of 1000", softmax_backward, 1000, true},
        {"cross entropy with gradient, rows of 1000", cross_entropy, 1000, false},
        {"layer_norm, rows of 1000", layer_norm, 1000, false},
        {"its gradients, rows of 1000", layer_norm_backward, 1000, true},
    };
    std::vector<ratio::row> rows;
    for (const int threads : {1, 2}) {
        const std::string suffix = threads == 1 ? ", 1 thread" : ", 2 threads";
        for (const bool half_more : {false, true})
            benchmark::RegisterBenchmark(
                (std::string("copy") + (half_more ? " and a half" : "") + suffix).c_str(),
                [=](benchmark::State& s) { copy(s, half_more ? elements + elements / 2 : elements, threads); })
                ->UseRealTime();
        for (const made& m : all) {
            const std::string name = m.name + suffix;
            benchmark::RegisterBenchmark(name.c_str(), [m, threads](benchmark::State& s) {
                run(s, elements / m.classes, m.classes, threads, m.s);
            })->UseRealTime();
            rows.push_back({name + ", ns an element", name,
                            std::string("copy") + (m.backward ? " and a half" : "") + suffix, 0.8,
                            static_cast<double>(elements)});
        }
    }
    for (const std::int64_t batch : {50, 128}) {
        const std::string name = "cross entropy with gradient, " + std::to_string(batch) + " x 10";
        benchmark::RegisterBenchmark(name.c_str(), [batch](benchmark::State& s) {
            run(s, batch, 10, 1, cross_entropy);
        })->UseRealTime();
        rows.push_back({name, name, "", 0, 1});
    }
    return ratio::run(argc, argv, rows);
}
