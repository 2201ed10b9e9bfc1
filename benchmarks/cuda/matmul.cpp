// Products of square matrices through the graph beside cuBLASLt called directly (PERFORMANCE G1): exact float, TF32, bfloat16, of 256 ..
// 8192, and int8 by a transposed one, of 8192. As many products a step as make it some milliseconds, each of a matrix of its own. Of
// cards whose peak is known: what part of it is reached (target: 70 % for bfloat16 products of 8192 squared).

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/state/state.hpp>

#include "cuda/gpu.hpp"
#include "cuda/hand_matmul.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

using baseline::numbers;

const char* name_of(numbers n) {
    switch (n) {
    case numbers::exact_float: return "float";
    case numbers::tf32: return "TF32";
    case numbers::bfloat16: return "bfloat16";
    default: return "int8";
    }
}
int products_of(std::int64_t size) {
    return size <= 256 ? 1024 : size <= 512 ? 512 : size <= 1024 ? 256 : size <= 2048 ? 64 : size <= 4096 ? 16 : 4;
}

// Whether the element in row i and column j is the sum of so many products, to the rounding of the type.
template <class A, class B>
bool is_right(numbers n, std::int64_t size, std::int64_t i, std::int64_t j, float c, const A& a, const B& b) {
    double sum = 0, all = 0;
    for (std::int64_t l = 0; l < size; ++l) {
        const std::int64_t in_b = n == numbers::int8 ? j * size + l : l * size + j;
        const double x = static_cast<double>(a(i * size + l)) * static_cast<double>(b(in_b));
        sum += x;
        all += std::fabs(x);
    }
    const double rounding = n == numbers::int8          ? 0
                            : n == numbers::exact_float ? 1e-6
                            : n == numbers::tf32        ? 1e-3
                                                        : 8e-3;
    return std::fabs(static_cast<double>(c) - sum) <= rounding * all; // not so of NaN
}

float element(const tn::any_array& a, std::int64_t at) {
    switch (a.element()) {
    case tn::element_type::int8: return static_cast<float>(a.data<std::int8_t>()[at]);
    case tn::element_type::int32: return static_cast<float>(a.data<std::int32_t>()[at]);
    case tn::element_type::bfloat16: return static_cast<float>(a.data<tn::bfloat16>()[at]);
    default: return a.data<float>()[at];
    }
}

// The same numbers from another place on, as on the other side: a prime number of them over and over.
tn::any_array random_integers(const tn::extents& sizes, std::uint64_t first) {
    constexpr std::int64_t period = 1000003;
    std::mt19937 random(1);
    std::uniform_int_distribution<int> whole(-127, 127);
    std::vector<std::int8_t> some(static_cast<std::size_t>(period));
    for (std::int8_t& x : some) x = static_cast<std::int8_t>(whole(random));
    tn::any_array all(tn::element_type::int8, sizes);
    const auto shift = static_cast<std::int64_t>(first) % period;
    std::rotate(some.begin(), some.begin() + shift, some.end());
    for (std::int64_t at = 0; at < all.elements(); at += period)
        std::memcpy(all.data<std::int8_t>() + at, some.data(),
                    static_cast<std::size_t>(std::min(period, all.elements() - at)));
    return all;
}

void through_graph(benchmark::State& state, numbers n, std::int64_t size) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto on_gpu = tn::on("/gpu:0");
    const bool whole = n == numbers::int8;
    const tn::extents square(size, size);
    const tn::element_type e = whole                    ? tn::element_type::int8
                               : n == numbers::bfloat16 ? tn::element_type::bfloat16
                                                        : tn::element_type::float32;
    const int products = products_of(size);
    // Variables; of int8, for which GPUs have none, constants, which are too large to be folded.
    const auto random = [&](const std::string& name, std::uint64_t seed) {
        if (whole) return tn::untyped::constant(random_integers(square, seed));
        return tn::untyped::variable(name, {e, square}, tn::normal(0, 1, seed));
    };
    const tn::any_tensor b = random("b", 1);
    std::vector<tn::any_tensor> as, kept;
    std::vector<tn::operation> targets;
    for (int i = 0; i < products; ++i) {
        as.push_back(random("a" + std::to_string(i), static_cast<std::uint64_t>(i) + 2));
        const tn::any_tensor c = tn::untyped::matmul(as.back(), b, false, whole);
        // Written to a variable, or read by one: an element of it.
        const tn::any_tensor read =
            whole ? tn::untyped::cast(tn::untyped::slice(c, {{0, 1}, {0, 1}}), tn::element_type::float32) : c;
        const tn::any_tensor to = tn::untyped::variable("c" + std::to_string(i), read.type(), tn::zeros());
        kept.push_back(whole ? c : to);
        targets.push_back(tn::untyped::group({tn::untyped::assign(to, read)}));
    }
    tn::session_options o{.allow_tf32 = n == numbers::tf32};
    tn::session s(g, o);
    s.run(tn::initialize_variables());
    const auto step = s.callable_untyped({}, {}, targets);
    for (int i = 0; i < 3; ++i) step({}); // the first ones record it
    const std::vector<tn::any_array> last = s.run_untyped({}, {as.back(), b, kept.back()});
    for (const std::int64_t at : {std::int64_t{0}, size / 3, size - 1})
        if (!is_right(
                n, size, at, size - 1 - at, element(last[2], at * size + size - 1 - at),
                [&](std::int64_t i) { return element(last[0], i); },
                [&](std::int64_t i) { return element(last[1], i); }))
            state.SkipWithError("a wrong product");
    for (auto _ : state) step({});
}

void directly(benchmark::State& state, numbers n, std::int64_t size) {
    const int products = products_of(size);
    baseline::hand_matmul all(n, size, products);
    all.run();
    const std::int64_t at = size / 3;
    if (!is_right(
            n, size, at, size - 1 - at, all.c(products - 1, at * size + size - 1 - at),
            [&](std::int64_t i) { return all.a(products - 1, i); }, [&](std::int64_t i) { return all.b(i); }))
        state.SkipWithError("a wrong product");
    for (auto _ : state) all.run();
}

// Operations in a second, of all multiprocessors at their highest clock, as NVIDIA's data sheets have them, without sparsity.
double peak(const std::string& card, numbers n) {
    struct known {
        const char* name;
        double exact_float, tf32, bfloat16, int8;
    };
    static constexpr known all[] = {
        {"H200", 67e12, 494.7e12, 989.4e12, 1978.9e12},
        {"H100 80GB HBM3", 67e12, 494.7e12, 989.4e12, 1978.9e12},
        {"A100", 19.5e12, 156e12, 312e12, 624e12},
    };
    for (const known& k : all) {
        if (card.find(k.name) == std::string::npos) continue;
        switch (n) {
        case numbers::exact_float: return k.exact_float;
        case numbers::tf32: return k.tf32;
        case numbers::bfloat16: return k.bfloat16;
        default: return k.int8;
        }
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (!gpu::is_there()) return 77;
    struct measured {
        numbers in;
        std::int64_t size;
        ratio::row row;
    };
    std::vector<measured> all;
    for (const numbers n : {numbers::exact_float, numbers::tf32, numbers::bfloat16, numbers::int8})
        for (const std::int64_t size : {256, 512, 1024, 2048, 4096, 8192}) {
            if (n == numbers::int8 && size != 8192) continue;
            const std::string title = std::string("G1: ") + name_of(n) + " " + std::to_string(size);
            const std::string ours = title + "/tenon", theirs = title + "/cuBLASLt";
            benchmark::RegisterBenchmark(ours.c_str(), [n, size](benchmark::State& s) {
                through_graph(s, n, size);
            })->UseRealTime();
            benchmark::RegisterBenchmark(theirs.c_str(), [n, size](benchmark::State& s) {
                directly(s, n, size);
            })->UseRealTime();
            all.push_back({n, size, {title, ours, theirs, 0.98, products_of(size) * 1e3, "us"}});
        }
    std::vector<ratio::row> rows;
    for (const measured& m : all) rows.push_back(m.row);
    const ratio::reporter times = ratio::measure(argc, argv, rows);

    const std::string card = tn::linked_gpu_backend()->physical().front().description;
    std::printf("\n%-52s %12s %12s\n", "", "TFLOP/s", "of the peak");
    for (const measured& m : all) {
        const double step = times.median(m.row.ours) * 1e-9, most = peak(card, m.in);
        if (step <= 0) continue;
        const double rate = 2.0 * std::pow(static_cast<double>(m.size), 3) * products_of(m.size) / step;
        std::printf("%-52s %12.1f", m.row.title.c_str(), rate * 1e-12);
        if (most > 0) std::printf(" %10.0f %%", 100 * rate / most);
        std::printf("\n");
    }
    return 0;
}
