#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/ops/reduce/row_packs.hpp>

#include "each_isa.hpp"

#define TENON_SIMD_FILE <ops/reduce/row_packs_ops.inl>
#include <tenon/simd/for_each_isa.hpp>

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
