#include "ops/untyped_run.hpp"
#include "tests.hpp"

using namespace tenon;

namespace {

// One factor after another, which wraps around.
template <class T> T product(T a, T n) {
    if constexpr (std::is_signed_v<T>)
        if (n < 0) return a == 1 || (a == T(-1) && n % 2 == 0) ? T(1) : a == T(-1) ? T(-1) : T(0);
    std::uint64_t all = 1;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(n); ++i) all *= static_cast<std::uint64_t>(a);
    return static_cast<T>(all);
}

} // namespace

TEST_CASE_TEMPLATE("integers to the power of integers wrap around, and below 0 leave 1 of 1, 1 or -1 of -1, and 0", T,
                   std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
    constexpr int n = 600;
    const graph_scope scope{graph()};
    const auto x = placeholder<T, shape<n>>("x"), e = placeholder<T, shape<n>>("e");
    const auto y = identity(pow(x, e) + T(1)); // in one pass
    session s(graph::current());
    std::mt19937_64 random(5);
    array<T, shape<n>> bases, exponents;
    for (int i = 0; i < n; ++i) {
        const auto any = static_cast<T>(random());
        bases(i) = i % 3 == 0 ? any : static_cast<T>(random() % 4 - 1); // -1 is the highest of those without a sign
        exponents(i) = static_cast<T>(random() % 90);
        if (i % 4 == 0) exponents(i) = static_cast<T>(-static_cast<int>(random() % 5)); // as high as can be of those
        if constexpr (std::is_unsigned_v<T> && sizeof(T) > 2) exponents(i) = static_cast<T>(exponents(i) % 1000);
    }
    const auto powers = s.run(feed(x, bases), feed(e, exponents), y);
    for (int i = 0; i < n; ++i) {
        INFO(static_cast<std::int64_t>(bases(i)), "^", static_cast<std::int64_t>(exponents(i)));
        CHECK(powers(i) == static_cast<T>(product(bases(i), exponents(i)) + 1));
    }
    s.run(feed(x, bases), feed(e, exponents), pow(x, e)); // by a tape that nobody compiled, too
    const auto again = s.run_untyped(test::fed(x, bases.untyped(), e, exponents.untyped()), {untyped::pow(x, e)});
    for (int i = 0; i < n; ++i) CHECK(again[0].template data<T>()[i] == product(bases(i), exponents(i)));
}
