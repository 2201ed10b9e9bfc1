#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <tenon/core/number.hpp>
#include <tenon/core/with_element.hpp>

#include "../messages.hpp"

using tenon::element_type, tenon::number;

namespace {

__extension__ typedef __int128 wide;

// Whether T holds an integer, by arithmetic of 128 bits.
template <class T> bool holds(wide n) {
    if constexpr (std::is_same_v<T, bool>) return n == 0 || n == 1;
    else return n >= std::numeric_limits<T>::min() && n <= std::numeric_limits<T>::max();
}
template <class F> void for_integers_and_bool(F f) {
    for (int e = static_cast<int>(element_type::int8); e <= static_cast<int>(element_type::boolean); ++e)
        tenon::detail::with_element(static_cast<element_type>(e), [&]<class T>(const T&) {
            if constexpr (std::is_integral_v<T>) f(T{});
        });
}

} // namespace

TEST_CASE("integers fit where their type holds them, and are themselves there") {
    std::vector<wide> all;
    for (int bit = 0; bit <= 64; ++bit)
        for (int d = -2; d <= 2; ++d) {
            const wide n = (wide{1} << bit) + d;
            if (n <= std::numeric_limits<std::uint64_t>::max()) all.push_back(n);
            if (-n >= std::numeric_limits<std::int64_t>::min()) all.push_back(-n);
        }
    for (const wide n : all) {
        const number written = n < 0 ? number(static_cast<std::int64_t>(n)) : number(static_cast<std::uint64_t>(n));
        for_integers_and_bool([&]<class T>(T) {
            const element_type e = tenon::element_type_of<T>;
            REQUIRE(written.fits(e) == holds<T>(n));
            if (!holds<T>(n)) return;
            REQUIRE(wide{written.to<T>()} == n);
            REQUIRE(wide{number::of_bits(written.bits_in(e), e).to<T>()} == n);
        });
    }
}

TEST_CASE("doubles fit integers where they have no fraction and are in range") {
    const double two_63 = 9223372036854775808.0;
    const double infinite = std::numeric_limits<double>::infinity();
    for (const double d :
         {0.0, -0.0, 1.0,  -1.0,   0.5,     -0.5,       127.0,       128.0, -128.0,       -129.0,   255.0,    256.0,
          3e9, -3e9, 1e18, two_63, -two_63, 2 * two_63, -2 * two_63, 1e300, std::nan(""), infinite, -infinite}) {
        const bool whole = std::isfinite(d) && std::trunc(d) == d && std::fabs(d) <= 2 * two_63;
        for_integers_and_bool([&]<class T>(T) {
            const bool fits = whole && holds<T>(static_cast<wide>(d));
            REQUIRE(number(d).fits(tenon::element_type_of<T>) == fits);
            if (fits) REQUIRE(static_cast<wide>(number(d).to<T>()) == static_cast<wide>(d));
        });
        CHECK(number(d).fits(element_type::float16));
    }
}

TEST_CASE("a number that does not fit is refused by number, type and range") {
    const auto words = [](const number& n, element_type e) {
        return message_of<tenon::invalid_argument_error>([&] { tenon::detail::require_fits(n, e, "f"); });
    };
    CHECK(words(300, element_type::uint8) ==
          "f: 300 cannot be an element of type uint8, which holds whole numbers from 0 to 255");
    CHECK(words(0.5, element_type::int32) ==
          "f: 0.5 cannot be an element of type int32, which holds whole numbers from -2147483648 to 2147483647");
    CHECK(words(3e9, element_type::int32).starts_with("f: 3000000000 cannot be an element of type int32"));
    CHECK(words(-1, element_type::uint64) ==
          "f: -1 cannot be an element of type uint64, which holds whole numbers from 0 to 18446744073709551615");
    CHECK(contains(words(2, element_type::boolean), "which is 0 or 1"));
    CHECK(words(255, element_type::uint8) == "nothing was thrown");
}
