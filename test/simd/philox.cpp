#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/ops/random/random_numbers.hpp>
#include <tenon/simd/isa.hpp>
#include <tenon/simd/philox.hpp>

#include "each_isa.hpp"

namespace tn = tenon;
using tn::half, tn::bfloat16, tn::philox, tn::philox_block, tn::random_stream;
namespace td = tenon::detail;

namespace {

// The known answers that its authors publish with Random123, for philox4x32-10.
static_assert(philox({{0, 0, 0, 0}}, 0) == philox_block{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
static_assert(philox({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffffffffffff) ==
              philox_block{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
static_assert(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822) ==
              philox_block{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});

constexpr random_stream stream{0x0123456789abcdef, 0xfedcba9876543210};

std::uint64_t hash_of(const void* data, std::size_t bytes) {
    std::uint64_t h = 0xCBF29CE484222325;
    for (std::size_t i = 0; i < bytes; ++i) h = (h ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3;
    return h;
}

template <class T, class Fill> std::vector<T> filled(std::size_t n, Fill fill) {
    std::vector<T> v(n);
    fill(v.data(), static_cast<std::int64_t>(n));
    return v;
}

struct moments {
    double mean = 0, deviation = 0, skew = 0, kurtosis = 0, least = 0, most = 0;
    template <class T> explicit moments(const std::vector<T>& v) {
        const auto n = static_cast<double>(v.size());
        least = most = static_cast<double>(v[0]);
        for (const T x : v) {
            mean += static_cast<double>(x) / n;
            least = std::fmin(least, static_cast<double>(x));
            most = std::fmax(most, static_cast<double>(x));
        }
        double m2 = 0, m3 = 0, m4 = 0;
        for (const T x : v) {
            const double d = static_cast<double>(x) - mean;
            m2 += d * d / n;
            m3 += d * d * d / n;
            m4 += d * d * d * d / n;
        }
        deviation = std::sqrt(m2);
        skew = m3 / (m2 * deviation);
        kurtosis = m4 / (m2 * m2);
    }
};

double normal_distribution(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// Kolmogorov and Smirnov's distance times the root of the count: beyond 1.95 with a chance of 0.001.
template <class T, class F> double distance(std::vector<T> v, F distribution) {
    std::vector<std::size_t> counts(1 << 14);
    const auto buckets = static_cast<double>(counts.size());
    for (const T x : v) {
        const double u = distribution(static_cast<double>(x)) * buckets;
        ++counts[static_cast<std::size_t>(std::fmin(std::fmax(u, 0.0), buckets - 1))];
    }
    double worst = 0;
    std::size_t below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        below += counts[i];
        worst = std::fmax(worst, std::fabs(static_cast<double>(below) / static_cast<double>(v.size()) -
                                           static_cast<double>(i + 1) / buckets));
    }
    return worst * std::sqrt(static_cast<double>(v.size()));
}

} // namespace

TEST_CASE("SEMANTICS 21: uniform numbers are the documented words of the stream, on every instruction set") {
    for_each_isa([] {
        for (const std::size_t n : {0U, 1U, 3U, 4U, 63U, 64U, 65U, 200U}) {
            const auto f =
                filled<float>(n, [](float* p, std::int64_t k) { td::fill_uniform(p, k, stream, -1.0F, 3.0F); });
            const auto d =
                filled<double>(n, [](double* p, std::int64_t k) { td::fill_uniform(p, k, stream, 0.0, 1.0); });
            const auto h = filled<half>(
                n, [](half* p, std::int64_t k) { td::fill_uniform(p, k, stream, half(0.0F), half(1.0F)); });
            const auto b = filled<bfloat16>(
                n, [](bfloat16* p, std::int64_t k) { td::fill_uniform(p, k, stream, bfloat16(0.0F), bfloat16(1.0F)); });
            for (std::size_t i = 0; i < n; ++i) {
                const std::uint32_t word = stream.block(i / 4).word[i % 4];
                CHECK(f[i] == static_cast<float>(word >> 8) * 0x1p-24F * 4.0F + -1.0F);
                CHECK(float(h[i]) == static_cast<float>(word >> 21) * 0x1p-11F);
                CHECK(float(b[i]) == static_cast<float>(word >> 24) * 0x1p-8F);
                const philox_block two = stream.block(i / 2);
                const std::uint64_t bits = two.word[i % 2 * 2] | std::uint64_t{two.word[i % 2 * 2 + 1]} << 32;
                CHECK(d[i] == static_cast<double>(bits >> 11) * 0x1p-53);
            }
        }
    });
}

TEST_CASE("SEMANTICS 21: every distribution gives the same bits on every instruction set and compiler") {
    // The numbers below were made once; both compilers and all instruction sets must make them again.
    constexpr std::size_t n = 10'007;
    for_each_isa([] {
        const auto f = filled<float>(n, [](float* p, std::int64_t k) { td::fill_normal(p, k, stream, 0.5F, 2.0F); });
        const auto d = filled<double>(n, [](double* p, std::int64_t k) { td::fill_normal(p, k, stream, 0.5, 2.0); });
        const auto h = filled<half>(n, [](half* p, std::int64_t k) { td::fill_normal(p, k, stream, 0.5F, 2.0F); });
        const auto b =
            filled<bfloat16>(n, [](bfloat16* p, std::int64_t k) { td::fill_normal(p, k, stream, 0.5F, 2.0F); });
        const auto tf =
            filled<float>(n, [](float* p, std::int64_t k) { td::fill_truncated_normal(p, k, stream, 0.5F, 2.0F); });
        const auto te =
            filled<double>(n, [](double* p, std::int64_t k) { td::fill_truncated_normal(p, k, stream, 0.5, 2.0); });
        const auto i = filled<std::int32_t>(
            n, [](std::int32_t* p, std::int64_t k) { td::fill_integers(p, 4, k, stream, -1000, 12345); });
        CHECK(hash_of(f.data(), n * 4) == 0x38492ae2945ae8e7);
        CHECK(hash_of(d.data(), n * 8) == 0xfef97417d2782953);
        CHECK(hash_of(h.data(), n * 2) == 0xfdbf97350f825446);
        CHECK(hash_of(b.data(), n * 2) == 0x9faf204bddf16d9d);
        CHECK(hash_of(tf.data(), n * 4) == 0x71e3b216e7e4ccee);
        CHECK(hash_of(te.data(), n * 8) == 0xe98f32ece2384912);
        CHECK(hash_of(i.data(), n * 4) == 0x23bde9d397e7b026);
        const auto order =
            filled<std::int32_t>(n, [](std::int32_t* p, std::int64_t k) { td::fill_permutation(p, k, stream); });
        CHECK(hash_of(order.data(), n * 4) == 0x9cba1673a587c803);
    });
}

TEST_CASE("SEMANTICS 21: the number of threads changes nothing") {
    tn::thread_pool pool(3);
    constexpr std::size_t n = 200'003; // several pieces, the last of them not whole
    const auto same = [&](auto zero, auto fill) {
        using T = decltype(zero);
        std::vector<T> one(n), many(n);
        fill(one.data(), nullptr);
        fill(many.data(), &pool);
        CHECK(hash_of(one.data(), n * sizeof(T)) == hash_of(many.data(), n * sizeof(T)));
    };
    same(0.0F, [&](float* p, tn::thread_pool* t) { td::fill_uniform(p, n, stream, 0.0F, 1.0F, t); });
    same(0.0, [&](double* p, tn::thread_pool* t) { td::fill_uniform(p, n, stream, 0.0, 1.0, t); });
    same(0.0F, [&](float* p, tn::thread_pool* t) { td::fill_normal(p, n, stream, 0.0F, 1.0F, t); });
    same(0.0, [&](double* p, tn::thread_pool* t) { td::fill_normal(p, n, stream, 0.0, 1.0, t); });
    same(0.0F, [&](float* p, tn::thread_pool* t) { td::fill_truncated_normal(p, n, stream, 0.0F, 1.0F, t); });
    same(std::int64_t{0}, [&](std::int64_t* p, tn::thread_pool* t) { td::fill_integers(p, 8, n, stream, 0, 1000, t); });
    same(std::uint8_t{0}, [&](std::uint8_t* p, tn::thread_pool* t) {
        td::fill_bernoulli(reinterpret_cast<bool*>(p), n, stream, 0.5, t);
    });
}

TEST_CASE("uniform numbers are in [lo, hi), also where rounding would give hi") {
    for_each_isa([] {
        constexpr std::size_t n = 100'000;
        const auto near_one =
            filled<float>(n, [](float* p, std::int64_t k) { td::fill_uniform(p, k, stream, 1.0F, 1.0F + 0x1p-22F); });
        for (const float x : near_one) REQUIRE((x >= 1.0F && x < 1.0F + 0x1p-22F));
        const auto h = filled<half>(
            n, [](half* p, std::int64_t k) { td::fill_uniform(p, k, stream, half(-3.0F), half(1000.0F)); });
        for (const half x : h) REQUIRE((x >= half(-3.0F) && x < half(1000.0F)));
        const auto b = filled<bfloat16>(
            n, [](bfloat16* p, std::int64_t k) { td::fill_uniform(p, k, stream, bfloat16(-1.0F), bfloat16(0.0F)); });
        for (const bfloat16 x : b) REQUIRE((x >= bfloat16(-1.0F) && x < bfloat16(0.0F)));
    });
}

TEST_CASE("distributions have their moments and pass Kolmogorov and Smirnov's test") {
    constexpr std::size_t n = 1'000'000;
    const auto uniform = filled<float>(n, [](float* p, std::int64_t k) { td::fill_uniform(p, k, stream, 0.0F, 1.0F); });
    CHECK(moments(uniform).mean == doctest::Approx(0.5).epsilon(0.002));
    CHECK(moments(uniform).deviation == doctest::Approx(std::sqrt(1.0 / 12)).epsilon(0.002));
    CHECK(distance(uniform, [](double x) { return x; }) < 1.95);

    const auto check_normal = [](const auto& v) {
        const moments m(v);
        CHECK(std::fabs(m.mean) < 0.004);
        CHECK(m.deviation == doctest::Approx(1).epsilon(0.003));
        CHECK(std::fabs(m.skew) < 0.01);
        CHECK(m.kurtosis == doctest::Approx(3).epsilon(0.01));
        CHECK(m.most > 4.3);
        CHECK(m.least < -4.3);
        CHECK(distance(v, normal_distribution) < 1.95);
    };
    check_normal(filled<float>(n, [](float* p, std::int64_t k) { td::fill_normal(p, k, stream, 0.0F, 1.0F); }));
    check_normal(filled<double>(n, [](double* p, std::int64_t k) { td::fill_normal(p, k, stream, 0.0, 1.0); }));

    const double inside = normal_distribution(2) - normal_distribution(-2);
    const auto check_truncated = [&](const auto& v) {
        const moments m(v);
        CHECK(std::fabs(m.mean) < 0.003);
        CHECK(m.deviation == doctest::Approx(0.87962566).epsilon(0.003));
        CHECK(m.most <= 2);
        CHECK(m.most > 1.999);
        CHECK(m.least >= -2);
        CHECK(m.least < -1.999);
        CHECK(distance(v, [&](double z) { return (normal_distribution(z) - normal_distribution(-2)) / inside; }) <
              1.95);
    };
    check_truncated(
        filled<float>(n, [](float* p, std::int64_t k) { td::fill_truncated_normal(p, k, stream, 0.0F, 1.0F); }));
    check_truncated(
        filled<double>(n, [](double* p, std::int64_t k) { td::fill_truncated_normal(p, k, stream, 0.0, 1.0); }));

    const auto mask = filled<std::uint8_t>(
        n, [](std::uint8_t* p, std::int64_t k) { td::fill_bernoulli(reinterpret_cast<bool*>(p), k, stream, 0.3); });
    CHECK(moments(mask).mean == doctest::Approx(0.3).epsilon(0.005));
}

TEST_CASE("normal numbers are Box and Muller's, to a few units in the last place of the radius") {
    constexpr std::size_t n = 4096;
    const auto f = filled<float>(n, [](float* p, std::int64_t k) { td::fill_normal(p, k, stream, 0.0F, 1.0F); });
    const auto d = filled<double>(n, [](double* p, std::int64_t k) { td::fill_normal(p, k, stream, 0.0, 1.0); });
    const double turn = 2 * 3.14159265358979323846;
    for (std::size_t i = 0; i < n; i += 2) {
        const philox_block w = stream.block(i / 4);
        const double u =
            (static_cast<float>(static_cast<std::int32_t>(w.word[i % 4] >> 1)) + 0.5F) * 0x1p-31F; // rounded to a float
        const double v = w.word[i % 4 + 1] * 0x1p-32;
        const double r = std::sqrt(-2 * std::log(u));
        CHECK(std::fabs(f[i] - r * std::cos(turn * v)) <= 4e-7 * (r + 0.01));
        CHECK(std::fabs(f[i + 1] - r * std::sin(turn * v)) <= 4e-7 * (r + 0.01));
        const philox_block x = stream.block(i / 2);
        const double ud = (static_cast<double>((x.word[0] | std::uint64_t{x.word[1]} << 32) >> 12) + 0.5) * 0x1p-52;
        const double vd = static_cast<double>(x.word[2] | std::uint64_t{x.word[3]} << 32) * 0x1p-64;
        const double rd = std::sqrt(-2 * std::log(ud));
        CHECK(std::fabs(d[i] - rd * std::cos(turn * vd)) <= 1e-15 * (rd + 0.01) * 4);
        CHECK(std::fabs(d[i + 1] - rd * std::sin(turn * vd)) <= 1e-15 * (rd + 0.01) * 4);
    }
}

TEST_CASE("truncated normal numbers are the inverse of the distribution function") {
    constexpr std::size_t n = 4096;
    const auto f =
        filled<float>(n, [](float* p, std::int64_t k) { td::fill_truncated_normal(p, k, stream, 0.0F, 1.0F); });
    const auto d =
        filled<double>(n, [](double* p, std::int64_t k) { td::fill_truncated_normal(p, k, stream, 0.0, 1.0); });
    const double part = std::erf(std::sqrt(2.0));
    for (std::size_t i = 0; i < n; ++i) {
        const double v = ((stream.block(i / 4).word[i % 4] >> 8) + 0.5) * 0x1p-23 - 1;
        CHECK(std::erf(static_cast<double>(f[i]) / std::sqrt(2.0)) == doctest::Approx(part * v).epsilon(1e-6));
        const philox_block x = stream.block(i / 2);
        const std::uint64_t bits = x.word[i % 2 * 2] | std::uint64_t{x.word[i % 2 * 2 + 1]} << 32;
        const double vd = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-51 - 1;
        CHECK(std::erf(d[i] / std::sqrt(2.0)) == doctest::Approx(part * vd).epsilon(1e-14));
    }
}

TEST_CASE("integers are the upper half of a product, for small and large ranges") {
    for_each_isa([] {
        for (const std::uint64_t range :
             {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{0xFFFFFFFF}, std::uint64_t{0x100000001},
              std::uint64_t{0x9E3779B97F4A7C15}, ~std::uint64_t{0}}) {
            const auto v = filled<std::int64_t>(
                99, [&](std::int64_t* p, std::int64_t k) { td::fill_integers(p, 8, k, stream, -5, range); });
            for (std::size_t i = 0; i < v.size(); ++i) {
                const philox_block x = stream.block(i / 2);
                const std::uint64_t x0 = x.word[i % 2 * 2], x1 = x.word[i % 2 * 2 + 1];
                const std::uint64_t r0 = range & 0xFFFFFFFF, r1 = range >> 32;
                const std::uint64_t middle = (x0 * r0 >> 32) + (x1 * r0 & 0xFFFFFFFF) + (x0 * r1 & 0xFFFFFFFF);
                const std::uint64_t upper = x1 * r1 + (x1 * r0 >> 32) + (x0 * r1 >> 32) + (middle >> 32);
                CHECK(static_cast<std::uint64_t>(v[i]) == upper + static_cast<std::uint64_t>(-5));
            }
        }
        const auto bytes = filled<std::uint8_t>(
            1000, [](std::uint8_t* p, std::int64_t k) { td::fill_integers(p, 1, k, stream, 250, 6); });
        for (const std::uint8_t b : bytes) REQUIRE(b >= 250);
        const auto small = filled<std::int16_t>(
            1000, [](std::int16_t* p, std::int64_t k) { td::fill_integers(p, 2, k, stream, -3, 7); });
        for (const std::int16_t s : small) REQUIRE((s >= -3 && s < 4));
    });
}

TEST_CASE("integers are evenly spread: chi squared") {
    constexpr std::size_t n = 700'000;
    const auto v =
        filled<std::int32_t>(n, [](std::int32_t* p, std::int64_t k) { td::fill_integers(p, 4, k, stream, 0, 7); });
    double counts[7] = {};
    for (const std::int32_t x : v) counts[x] += 1;
    double chi = 0;
    for (const double c : counts) chi += (c - 1e5) * (c - 1e5) / 1e5;
    CHECK(chi < 22.5); // 6 degrees of freedom: beyond with a chance of 0.001
}

TEST_CASE("truth values: never at probability 0, always at 1") {
    for_each_isa([] {
        std::uint8_t mask[1000];
        td::fill_bernoulli(reinterpret_cast<bool*>(mask), 1000, stream, 1.0);
        for (const std::uint8_t m : mask) REQUIRE(m == 1);
        td::fill_bernoulli(reinterpret_cast<bool*>(mask), 1000, stream, 0.0);
        for (const std::uint8_t m : mask) REQUIRE(m == 0);
    });
}

TEST_CASE("a permutation has every number once, and all orders of three are as likely") {
    const auto order =
        filled<std::int64_t>(10'000, [](std::int64_t* p, std::int64_t k) { td::fill_permutation(p, k, stream); });
    std::vector<bool> seen(order.size());
    for (const std::int64_t i : order) {
        REQUIRE((i >= 0 && i < 10'000));
        REQUIRE_FALSE(seen[static_cast<std::size_t>(i)]);
        seen[static_cast<std::size_t>(i)] = true;
    }
    double counts[27] = {};
    for (std::uint64_t run = 0; run < 60'000; ++run) {
        std::int32_t three[3];
        td::fill_permutation(three, 3, {stream.key, run});
        counts[three[0] * 9 + three[1] * 3 + three[2]] += 1;
    }
    double chi = 0;
    for (const int k : {0 * 9 + 1 * 3 + 2, 0 * 9 + 2 * 3 + 1, 1 * 9 + 0 * 3 + 2, 1 * 9 + 2 * 3 + 0, 2 * 9 + 0 * 3 + 1,
                        2 * 9 + 1 * 3 + 0})
        chi += (counts[k] - 1e4) * (counts[k] - 1e4) / 1e4;
    CHECK(chi < 20.6); // 5 degrees of freedom: beyond with a chance of 0.001
    std::int32_t one = 7;
    td::fill_permutation(&one, 1, stream);
    CHECK(one == 0);
    td::fill_permutation(&one, 0, stream);
}

TEST_CASE("other seeds and other runs give other numbers") {
    CHECK(tn::random_key(1, 2) != tn::random_key(2, 1));
    CHECK(tn::random_key(0, 0) != tn::random_key(0, 1));
    CHECK(random_stream{1, 0}.block(0) != random_stream{1, 1}.block(0));
    CHECK(random_stream{1, 0}.block(0) != random_stream{2, 0}.block(0));
    CHECK(random_stream{1, 0}.block(0) != random_stream{1, 0}.block(std::uint64_t{1} << 32));
}
