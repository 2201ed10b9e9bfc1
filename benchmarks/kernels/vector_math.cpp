// Mathematical functions of packs beside Eigen's (or <cmath> where Eigen has none), 4096 floats in cache, one
// thread: nanoseconds an element, for each instruction set this machine has. Eigen is built with -O3
// -march=native.

#include <cmath>
#include <cstdlib>
#include <random>

#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <kernels/vector_math.inl>
#include <tenon/simd/for_each_isa.hpp>

#include "baseline/vector_math.hpp"
#include "ratio.hpp"

namespace simd = tenon::simd;

namespace {

constexpr int count = 4096;

using loop = void (*)(const float*, float*, int);
struct entry {
    const char* name;
    loop loops[simd::isa_count];
};
#if defined(__x86_64__)
#define TENON_ENTRY(NAME)                                                                                         \
    {                                                                                                             \
#NAME, { simd::baseline::math_loops::NAME, simd::avx2::math_loops::NAME, simd::avx512::math_loops::NAME } \
    }
#else
#define TENON_ENTRY(NAME)                                             \
    {                                                                 \
#NAME, { simd::baseline::math_loops::NAME, nullptr, nullptr } \
    }
#endif
const entry entries[] = {TENON_ENTRY(exp), TENON_ENTRY(log),  TENON_ENTRY(tanh),  TENON_ENTRY(sigmoid),
                         TENON_ENTRY(sin), TENON_ENTRY(cos),  TENON_ENTRY(log1p), TENON_ENTRY(expm1),
                         TENON_ENTRY(erf), TENON_ENTRY(atan), TENON_ENTRY(sinh),  TENON_ENTRY(lgamma)};

using gated_loop = void (*)(const float*, float*, int, float, float, float);
gated_loop gated(simd::isa which) {
#if defined(__x86_64__)
    if (which == simd::isa::avx512) return simd::avx512::math_loops::gated;
    if (which == simd::isa::avx2) return simd::avx2::math_loops::gated;
#endif
    static_cast<void>(which);
    return simd::baseline::math_loops::gated;
}

std::vector<float> numbers() {
    std::vector<float> x(count);
    std::minstd_rand random(1);
    for (float& v : x) v = static_cast<float>(random()) * 0x1p-29F + 0.01F; // 0.01 to 4
    return x;
}

template <class F> void measure(const std::string& name, F f) {
    benchmark::RegisterBenchmark(name.c_str(), [f](benchmark::State& state) {
        const std::vector<float> x = numbers();
        std::vector<float> r(count);
        for (auto _ : state) {
            f(x.data(), r.data(), count);
            benchmark::DoNotOptimize(r.data());
            benchmark::ClobberMemory();
        }
    });
}

/// Both sides compute the same thing.
template <class A, class B> void check(const std::string& name, A a, B b) {
    const std::vector<float> x = numbers();
    std::vector<float> r(count), s(count);
    a(x.data(), r.data(), count);
    b(x.data(), s.data(), count);
    for (std::size_t i = 0; i < count; ++i)
        if (!(std::fabs(r[i] - s[i]) <= 1e-5F * (1 + std::fabs(s[i])))) {
            std::fprintf(stderr, "%s(%g): %g and %g\n", name.c_str(), double(x[i]), double(r[i]), double(s[i]));
            std::exit(1);
        }
}

} // namespace

int main(int argc, char** argv) {
    std::vector<ratio::row> rows;
    const auto compare = [&rows](const std::string& title, auto ours, auto theirs, double target) {
        check(title, ours, theirs);
        measure("tenon " + title, ours);
        measure("other " + title, theirs);
        rows.push_back({title, "tenon " + title, "other " + title, target, count, "ns"});
    };
    for (int k = simd::isa_count - 1; k >= 0; --k) {
        const auto which = static_cast<simd::isa>(k);
        if (!simd::has_isa(which)) continue;
        const std::string suffix = std::string(", ") + simd::name_of(which);
        const auto constants = [](auto f) {
            return [f](const float* x, float* r, int n) { f(x, r, n, 1.5F, -2.0F, 0.5F); };
        };
        compare("relu(a x + b) sigmoid(c - x)" + suffix, constants(gated(which)), constants(baseline::gated),
                which == simd::best_isa() ? 1.0 : 0.0);
        for (const entry& e : entries) compare(e.name + suffix, e.loops[k], baseline::vector_math(e.name), 0);
    }
    return ratio::run(argc, argv, rows);
}
