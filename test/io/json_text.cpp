// JSON that is written, beside what nlohmann's library writes, and numbers that are read.
#include <bit>
#include <nlohmann/json.hpp>

#include <tenon/io/json/json_parse.hpp>

#include "tests.hpp"

using tn::detail::json_text;
using tn::detail::json_value;

TEST_CASE("json_text writes numbers with the fewest digits that come back") {
    std::mt19937_64 bits(7);
    const double chosen[] = {
        0.0,  -0.0,  1.0,    0.1,  -2.5, 100.0,   123456789012345.0,     1e15, 1e16, 1e22, 1e-4, 1e-5,
        5e-4, 1e300, 5e-324, 1e20, 0.3,  2.0 / 3, 1.7976931348623157e308};
    for (const double v : chosen) {
        INFO(v);
        CHECK(json_text(v) == nlohmann::json(v).dump());
    }
    int read_back = 0;
    for (int i = 0; i < 20000; ++i) {
        const double v = std::bit_cast<double>(bits());
        if (!std::isfinite(v)) continue;
        const std::string text = json_text(v);
        const double back = std::strtod(text.c_str(), nullptr);
        CHECK(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(v));
        CHECK(text.size() <= nlohmann::json(v).dump().size());
        ++read_back;
    }
    CHECK(read_back > 10000);
    CHECK(json_text(std::numeric_limits<double>::infinity()) == "null");
    CHECK(json_text(std::int64_t{std::numeric_limits<std::int64_t>::min()}) == "-9223372036854775808");
    CHECK(json_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(json_text(true) == "true");
    CHECK(json_text({}) == "null");
}

TEST_CASE("json_text writes texts as nlohmann's library does, and refuses what is not UTF-8") {
    std::string all;
    for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
    for (const std::string& text :
         {all, std::string(), std::string("gr\xc3\xbc\xc3\x9f"), std::string("\xe2\x82\xac \xf0\x9f\x99\x82")})
        CHECK(json_text(text) == nlohmann::json(text).dump());
    // Every text of one to four bytes of these is taken by both or by none.
    const unsigned char bytes[] = {0x24, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2,
                                   0xDF, 0xE0, 0xED, 0xEE, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF};
    const std::size_t n = std::size(bytes);
    int good = 0;
    for (std::size_t i = 0; i < n * n * n * n; ++i) {
        std::string text;
        for (std::size_t rest = i, k = 0; k < 4; ++k, rest /= n) text += static_cast<char>(bytes[rest % n]);
        text.resize(1 + i % 4);
        const bool valid = nlohmann::json::accept('"' + text + '"');
        CHECK(tn::detail::is_utf8(text) == valid);
        good += valid;
    }
    CHECK(good > 100);
    CHECK_THROWS_AS(json_text("\xff"), tn::invalid_argument_error);
    CHECK_THROWS_AS(json_text(json_value::object{{"\xc3", 1}}), tn::invalid_argument_error);
}

TEST_CASE("json_text keeps the order of members, and indents") {
    const json_value v = json_value::object{{"b", json_value::list{1, 0.5, "x", json_value(), false}},
                                            {"a", json_value::object{}},
                                            {"c", json_value::list{}}};
    CHECK(json_text(v) == R"({"b":[1,0.5,"x",null,false],"a":{},"c":[]})");
    for (const int indent : {0, 1, 4})
        CHECK(json_text(v, indent) == nlohmann::ordered_json::parse(json_text(v)).dump(indent));
    const json_value back = tn::detail::parse_json(json_text(v, 2), "test");
    CHECK(json_text(back) == json_text(v));
}

TEST_CASE("numbers are read exactly") {
    std::mt19937_64 bits(11);
    for (int i = 0; i < 20000; ++i) {
        const double v = std::bit_cast<double>(bits());
        if (!std::isfinite(v)) continue;
        char text[64];
        const int length = std::snprintf(text, sizeof text, "%.*g", 1 + i % 17, v);
        const double wanted = std::strtod(text, nullptr);
        if (std::isfinite(wanted)) CHECK(tn::detail::read_double(text, text + length) == wanted);
        const float f = static_cast<float>(std::ldexp(v, -std::ilogb(v) + i % 200 - 100));
        const int digits = std::snprintf(text, sizeof text, "%.9g", static_cast<double>(f));
        CHECK(tn::detail::read_float(text, text + digits) == f);
    }
    const std::string two = "0.51";
    CHECK(tn::detail::read_double(two.data(), two.data() + 3) == 0.5); // nothing beyond the end is read
}
