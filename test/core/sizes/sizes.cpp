#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <tenon/core/sizes/sizes.hpp>

using tenon::checked_size;

namespace {

__extension__ typedef __int128 wide;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();

// Numbers of every magnitude, and those at the ends.
std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> all{0,     1,         -1,       2,         -2,         most,      most - 1,
                                  least, least + 1, most / 2, least / 2, 3037000499, 3037000500};
    std::mt19937_64 random(1);
    for (int i = 0; i < 200; ++i) all.push_back(static_cast<std::int64_t>(random()) >> random() % 64);
    return all;
}
bool is(const checked_size& n, wide exact) {
    const bool fits = exact >= least && exact <= most;
    return n.fits() == fits && (!fits || n.value() == exact) && n.saturated() == (fits ? n.value() : most);
}
wide floor_of(wide a, wide b) { return a / b - (a % b < 0 ? 1 : 0); }

} // namespace

TEST_CASE("sums, differences and products are those of 128 bits, or known not to fit") {
    for (const std::int64_t a : numbers())
        for (const std::int64_t b : numbers()) {
            REQUIRE(is(checked_size(a) + b, wide{a} + b));
            REQUIRE(is(checked_size(a) - b, wide{a} - b));
            REQUIRE(is(checked_size(a) * b, wide{a} * b));
            if (b > 0) {
                REQUIRE(is(divide_down(checked_size(a), b), floor_of(a, b)));
                REQUIRE(is(divide_up(checked_size(a), b), -floor_of(-wide{a}, b)));
            }
        }
}

TEST_CASE("what is computed from a number that overflowed has overflowed, whatever follows") {
    std::mt19937_64 random(2);
    for (int round = 0; round < 2000; ++round) {
        checked_size n = static_cast<std::int64_t>(random() >> random() % 64 >> 1);
        wide exact = n.value();
        bool fits = true;
        for (int i = 0; i < 8; ++i) {
            const auto m = static_cast<std::int64_t>(random() >> random() % 64 >> 1);
            const auto how = random() % 3;
            n = how == 0 ? n + m : how == 1 ? n - m : n * m;
            if (fits) exact = how == 0 ? exact + m : how == 1 ? exact - m : exact * m;
            fits = fits && exact >= least && exact <= most;
            REQUIRE(n.fits() == fits);
            if (fits) REQUIRE(n.value() == exact);
        }
    }
    CHECK_FALSE(((checked_size(most) + 1) * 0).fits());
    CHECK_FALSE(divide_down(checked_size(most) * 2, 2).fits());
}
