#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include <tenon/core/number.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/io/json/json_parse.hpp>

#include "comma_locale.hpp"

namespace tn = tenon;
using tn::detail::text_of_number;

TEST_CASE("numbers as text have the fewest digits that are read as the same number, small ones too") {
    CHECK(text_of_number(0.1) == "0.1");
    CHECK(text_of_number(0.1f) == "0.1");
    CHECK(text_of_number(1e-7) == "1e-07");
    CHECK(text_of_number(-2.5e-9f) == "-2.5e-09");
    CHECK(text_of_number(3.0) == "3");
    CHECK(text_of_number(std::numeric_limits<double>::infinity()) == "inf");
    const double negative = std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0);
    CHECK(text_of_number(negative) == "nan");
    CHECK(text_of_number(static_cast<float>(negative)) == "nan");
    CHECK(text_of_number(negative, 4) == "nan");
    for (const double d : {1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789.125, -6.02214076e23})
        CHECK(std::strtod(text_of_number(d).c_str(), nullptr) == d);
    for (const float f : {1.0f / 3, 1e-45f, 3.4028235e38f}) CHECK(std::strtof(text_of_number(f).c_str(), nullptr) == f);
}

TEST_CASE("numbers as text, and text as numbers, have a point where the user's language has a comma") {
    const comma_locale here;
    if (!here.is_there) {
        MESSAGE("skipped: there is no localedef that makes de_DE");
        return;
    }
    CHECK(text_of_number(0.25) == "0.25");
    CHECK(text_of_number(2.5f) == "2.5");
    CHECK(text_of_number(0.0001, 6) == "0.0001");
    CHECK(text_of_number(1.0 / 3, 4) == "0.3333");
    CHECK(tn::to_string(tn::number(0.5)) == "0.5");
    const std::string text = "2.75", json = "1.5";
    CHECK(tn::detail::read_double(text.data(), text.data() + text.size()) == 2.75);
    CHECK(tn::detail::read_float(text.data(), text.data() + text.size()) == 2.75f);
    CHECK(tn::detail::parse_json(json, "a test").described() == "the number 1.5");
}
