#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include <tenon/core/text/number_text.hpp>

namespace tn = tenon;
using tn::detail::text_of_number;

TEST_CASE("numbers as text have the fewest digits that are read as the same number, small ones too") {
    CHECK(text_of_number(0.1) == "0.1");
    CHECK(text_of_number(0.1f) == "0.1");
    CHECK(text_of_number(1e-7) == "1e-07");
    CHECK(text_of_number(-2.5e-9f) == "-2.5e-09");
    CHECK(text_of_number(3.0) == "3");
    CHECK(text_of_number(std::numeric_limits<double>::infinity()) == "inf");
    for (const double d : {1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789.125, -6.02214076e23})
        CHECK(std::strtod(text_of_number(d).c_str(), nullptr) == d);
    for (const float f : {1.0f / 3, 1e-45f, 3.4028235e38f}) CHECK(std::strtof(text_of_number(f).c_str(), nullptr) == f);
}
