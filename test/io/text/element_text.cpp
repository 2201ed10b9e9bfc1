#include <bit>

#include <tenon/io/text/element_text.hpp>

#include "tests.hpp"

using namespace tenon;
using detail::text_fault;

namespace {

template <class T> struct number_in {
    T value{};
    text_fault fault;
    explicit number_in(const std::string& text) : fault(detail::element_of_text(text, element_type_of<T>, &value)) {}
};

} // namespace

TEST_CASE("element_text: numbers, with what may stand around them") {
    CHECK(number_in<float>("1.").value == 1);
    CHECK(number_in<float>(" \t+.5e1 ").value == 5);
    CHECK(number_in<double>("-0").value == 0);
    CHECK(std::signbit(number_in<float>("-0").value));
    CHECK(number_in<double>("1E-2").value == 0.01);
    CHECK(std::isnan(number_in<float>("nan").value));
    for (const char* text : {"inf", "+inf", "INF", "+Infinity", " +inf "}) {
        CAPTURE(text);
        CHECK(number_in<double>(text).value == std::numeric_limits<double>::infinity());
        CHECK(std::isinf(number_in<float>(text).value));
    }
    for (const char* text : {"+nan", "-NaN"}) CHECK(std::isnan(number_in<double>(text).value));
    for (const char* text : {"+-inf", "++inf", "+", "+i", "+na"})
        CHECK(number_in<double>(text).fault == text_fault::no_value);
    CHECK(number_in<double>("-inf").value == -std::numeric_limits<double>::infinity());
    CHECK(number_in<float>("1e-999").value == 0);
    CHECK(number_in<float>("1e-999").fault == text_fault::none);
    CHECK(number_in<double>("0.00000000000000000000000000001e29").value == 1);
    CHECK(number_in<float>("0e999999999999999999999").value == 0);
    CHECK(static_cast<float>(number_in<half>("0.1").value) == static_cast<float>(half(0.1f)));
    CHECK(number_in<std::int32_t>(" -17").value == -17);
    CHECK(number_in<std::uint64_t>("18446744073709551615").value == ~std::uint64_t{0});
    CHECK(number_in<std::int8_t>("+127").value == 127);
    CHECK(number_in<bool>("TRUE").value);
    CHECK(number_in<bool>("0").fault == text_fault::none);
    CHECK(number_in<std::string>(" a ").value == " a ");
}

TEST_CASE("element_text: what is no number, and what is out of range") {
    for (const char* text : {"", " ", "12x", "1e", "1.2.3", "--1", "+-1", "0x10", "1 2", ".", "e5", "1,5", "+", "-",
                             "1e+", "na", "1_0", "\0001"}) {
        CAPTURE(text);
        CHECK(number_in<float>(text).fault == text_fault::no_value);
        CHECK(number_in<double>(text).fault == text_fault::no_value);
        CHECK(number_in<std::int32_t>(text).fault == text_fault::no_value);
    }
    CHECK(number_in<float>(std::string("1\0", 2)).fault == text_fault::no_value);
    CHECK(number_in<std::int64_t>("1.0").fault == text_fault::no_value);
    CHECK(number_in<std::uint8_t>("-1").fault == text_fault::no_value);
    CHECK(number_in<bool>("2").fault == text_fault::no_value);
    CHECK(number_in<bool>("truely").fault == text_fault::no_value);
    for (const char* text : {"1e999", "-1e999", "1e39", "340282366920938463463374607431768211456"})
        CHECK(number_in<float>(text).fault == text_fault::out_of_range);
    CHECK(number_in<double>("1e309").fault == text_fault::out_of_range);
    CHECK(number_in<half>("70000").fault == text_fault::out_of_range);
    CHECK(number_in<std::int8_t>("128").fault == text_fault::out_of_range);
    CHECK(number_in<std::int64_t>("9223372036854775808").fault == text_fault::out_of_range);
    CHECK(detail::words(text_fault::out_of_range, element_type::int8) == "is out of the range of int8");
}

// The library's strtof and strtod share no code with what is compared.
TEST_CASE("element_text: every number is the nearest one") {
    const std::uint64_t seed = 20240611;
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto check = [&](const std::string& text) {
        CAPTURE(text);
        const float f = std::strtof(text.c_str(), nullptr);
        const double d = std::strtod(text.c_str(), nullptr);
        const number_in<float> rf(text);
        const number_in<double> rd(text);
        if (std::isinf(f)) REQUIRE(rf.fault == text_fault::out_of_range);
        else {
            REQUIRE(rf.fault == text_fault::none);
            // below the least normal number a library may answer with 0 or with a denormal one
            if (std::fabs(f) >= std::numeric_limits<float>::min())
                REQUIRE(std::bit_cast<std::uint32_t>(rf.value) == std::bit_cast<std::uint32_t>(f));
            else REQUIRE(std::fabs(rf.value - f) <= std::numeric_limits<float>::denorm_min());
        }
        if (std::isinf(d)) REQUIRE(rd.fault == text_fault::out_of_range);
        else {
            REQUIRE(rd.fault == text_fault::none);
            if (std::fabs(d) >= std::numeric_limits<double>::min())
                REQUIRE(std::bit_cast<std::uint64_t>(rd.value) == std::bit_cast<std::uint64_t>(d));
        }
    };
    for (int i = 0; i < 60000; ++i) {
        const std::uint64_t r = random();
        std::string digits = std::to_string(random() >> (r % 64));
        if (r >> 8 & 1) digits.insert((r >> 16) % (digits.size() + 1), ".");
        if (r >> 9 & 1) digits += "e" + std::to_string(static_cast<int>((r >> 20) % 90) - 45);
        if (r >> 10 & 1) digits.insert(0, "-");
        check(digits);
    }
    // Halfway between two floats, and next to it: what a conversion that rounds twice gets wrong.
    for (int i = 0; i < 20000; ++i) {
        const float f = std::bit_cast<float>(static_cast<std::uint32_t>(random() % 0x10000000u) + 0x38000000u);
        const double middle = (static_cast<double>(f) + static_cast<double>(std::nextafter(f, 2 * f))) / 2;
        char text[400];
        std::snprintf(text, sizeof text, "%.*f", static_cast<int>(random() % 3 == 0 ? 60 : 10 + random() % 10), middle);
        check(text);
    }
}

TEST_CASE("element_text: a number's text says that number") {
    std::mt19937_64 random(7);
    for (int i = 0; i < 2000; ++i) {
        const float f = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        const double d = std::bit_cast<double>(random());
        if (std::isfinite(f)) CHECK(number_in<float>(detail::text_of_number(f)).value == f);
        if (std::isfinite(d)) CHECK(number_in<double>(detail::text_of_number(d)).value == d);
    }
    const auto least = std::numeric_limits<std::int64_t>::min();
    CHECK(number_in<std::int64_t>(detail::text_of_number(least)).value == least);
    CHECK(std::isnan(number_in<float>(detail::text_of_number(std::nanf(""))).value));
}

TEST_CASE("element_text: places and texts in messages") {
    const extents sizes{2, 3};
    CHECK(to_string(record_place{"data.csv", 17}) == "data.csv:17: ");
    CHECK(to_string(record_place{"", 17}) == "line 17: ");
    CHECK(to_string(record_place{"", 0, 4, &sizes}) == "record [1, 1]: ");
    CHECK(to_string(record_place{}) == "");
    CHECK(detail::shown_text(std::string("a\0\n", 3)) == "\"a\\x00\\x0a\"");
    CHECK(detail::shown_text(std::string(39, 'a') + "\u00e9") == "\"" + std::string(39, 'a') + "\"... (41 bytes)");
}
