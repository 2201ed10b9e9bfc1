#include <tenon/ops/reduce/row_packs.hpp>

#define TENON_SIMD_FILE <ops/reduce/row_packs_ops.inl>
#include <tenon/simd/for_each_isa.hpp>

#include "tests.hpp"

namespace simd = tenon::simd;

namespace {

std::vector<float> exponentials(const std::vector<float>& x) {
    std::vector<float> r(x.size());
    TENON_SIMD_BEST(row_pack_ops::exponentials(x.data(), r.data(), static_cast<int>(x.size())));
    return r;
}

} // namespace

TEST_CASE("exponentials of rows are within 2 ulp down to e^-87, and zero below") {
    std::vector<float> x;
    for (std::uint32_t bits = 0x80000000U; bits < 0xC2C80000U; bits += 613) { // -0 to -100
        float number;
        std::memcpy(&number, &bits, sizeof(number));
        x.push_back(number);
    }
    for (const float number : {-87.0F, std::nextafter(-87.0F, -88.0F), -std::numeric_limits<float>::infinity()})
        x.push_back(number);
    x.resize((x.size() + 15) / 16 * 16);
    std::vector<float> fused; // of avx2 and avx512, which are the same
    for_each_isa([&] {
        const std::vector<float> got = exponentials(x);
        int wrong = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double exact = x[i] < -87.0F ? 0 : std::exp(static_cast<double>(x[i]));
            const double ulp = exact > 0 ? std::ldexp(1.0, std::ilogb(exact) - 23) : 0;
            if (!(std::fabs(static_cast<double>(got[i]) - exact) <= 2 * ulp) || got[i] > 1) {
                if (++wrong == 1) MESSAGE("e^", x[i], " is ", got[i], " instead of ", exact);
            }
        }
        CHECK(wrong == 0);
        if (simd::best_isa() == simd::isa::baseline) return;
        if (!fused.empty()) CHECK(got == fused);
        fused = got;
    });
}

TEST_CASE("exponentials of rows: one at 0, and NaN stays NaN") {
    std::vector<float> x(16);
    x[3] = std::numeric_limits<float>::quiet_NaN();
    for_each_isa([&] {
        const std::vector<float> got = exponentials(x);
        for (std::size_t i = 0; i < x.size(); ++i) CHECK((i == 3 ? std::isnan(got[i]) : got[i] == 1.0F));
    });
}

TEST_CASE_TEMPLATE(
    "exponentials beside a power of 2 are within 2 ulp of e^x / 2^k, and nothing below the least normal number", T,
    float, double) {
    using limits = std::numeric_limits<T>;
    const double reach = std::is_same_v<T, float> ? 68 : 620; // ln of what sums are less than
    for_each_isa([&] {
        // without fused products fewer powers are exact
        const double most = std::is_same_v<T, double> || simd::best_isa() != simd::isa::baseline ? 22000 : 150;
        for (const double first : {0.0, 0.3, -40.0, 88.7, most, -most}) {
            std::vector<T> x(1 << 14), got(x.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double part = std::sin(static_cast<double>(i) * 1.1);
                x[i] = static_cast<T>(first + reach * part * (part > 0 ? 0.85 : 1.5));
            }
            x[0] = static_cast<T>(first);
            x[7] = -limits::infinity();
            x[8] = limits::lowest();
            T k = 0;
            CAPTURE(first);
            CHECK(TENON_SIMD_BEST(
                row_pack_ops::beside(static_cast<T>(first), x.data(), got.data(), static_cast<int>(x.size()), &k)));
            CHECK(std::fabs(static_cast<double>(k) - first / std::log(2.0)) <= 0.51);
            CHECK(got[7] == 0);
            CHECK(got[8] == 0);
            long double worst = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                // ln 2 in two parts, of which the first is subtracted exactly
                const auto p = static_cast<long double>(k);
                const long double exact = std::exp((static_cast<long double>(x[i]) - p * 0x1.62e42feep-1L) -
                                                   p * 1.90821492927058781614426568e-10L);
                if (exact < static_cast<long double>(limits::min())) {
                    CHECK(got[i] >= 0);
                    CHECK(got[i] <= limits::min());
                    continue;
                }
                const long double ulp = std::ldexp(1.0L, std::ilogb(exact) - limits::digits + 1);
                worst = std::max(worst, std::fabs(static_cast<long double>(got[i]) - exact) / ulp);
            }
            CHECK(worst <= 2);
        }
    });
}

TEST_CASE_TEMPLATE(
    "a sum is not near with what is much larger than the power, infinite or NaN, or without what is near", T, float,
    double) {
    const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const T reach = std::is_same_v<T, float> ? 68 : 620;
    for_each_isa([&] {
        const auto near = [&](T first, T element, T other) {
            std::vector<T> x(16, element), got(16);
            x[5] = other;
            T k;
            return TENON_SIMD_BEST(row_pack_ops::beside(first, x.data(), got.data(), 16, &k));
        };
        for (const T first : {T(0), T(-100), T(100)}) {
            for (const T d : {T(0), reach / 2, reach - 1}) CHECK(near(first, first, first + d));
            for (const T d : {T(1), reach, 2 * reach, T(1e3), T(5e5), T(1e7), T(1e30), infinity})
                CHECK(near(first, first, first - d));
            for (const T d : {reach + 6, 2 * reach, T(1e3), T(5e5), T(6e6), T(1e7), T(3e8), T(1e30), infinity})
                CHECK(!near(first, first, first + d));
            CHECK(!near(first, first, nan));
            CHECK(!near(first, first, -nan));
            CHECK(!near(first, first - 100, first - 200));
        }
        for (const T first :
             {infinity, -infinity, nan, T(1e5), T(-1e6), T(3e7), T(1e30), std::numeric_limits<T>::max()})
            CHECK(!near(first, first, first));
    });
}
