#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include <tenon/core/array/print.hpp>

namespace tn = tenon;
using tn::array, tn::extents, tn::shape, tn::to_string;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE("scalars and vectors are printed in one line after type and sizes") {
    CHECK(to_string(array<float>(3.0F)) == "float[] 3");
    CHECK(to_string(array<std::int32_t>{1, -20, 3}) == "int32[3] [  1, -20,   3]");
    CHECK(to_string(array<bool>{true, false}) == "bool[2] [ true, false]");
    CHECK(to_string(array<std::uint8_t>{65}) == "uint8[1] [65]");
    CHECK(to_string(array<float>()) == "float[0] []");
    CHECK(to_string(array<float>(extents{2, 0})) == "float[2, 0]\n[]");
    CHECK(to_string(tn::any_array()) == "none");
}

TEST_CASE("sizes show the names that the array's type gives them") {
    const array<float, shape<batch, 3>> a{{1, 2.5F, 3}, {4, 5, -6}};
    CHECK(to_string(a) == "float[batch=2, 3]\n"
                          "[[ 1  ,  2.5,  3  ],\n"
                          " [ 4  ,  5  , -6  ]]");
    std::ostringstream out;
    out << a << ' ' << array<float>{1};
    CHECK(out.str() == to_string(a) + " float[1] [1]");
}

TEST_CASE("numbers have the fewest digits that tell them apart, at most eight") {
    CHECK(to_string(array<float>{0.1F}) == "float[1] [0.1]");
    CHECK(to_string(array<double>{1.0 / 3}) == "double[1] [0.33333333]");
    CHECK(to_string(array<double>{1e300}) == "double[1] [1e+300]");
    CHECK(to_string(array<tn::half>{0.1F}) == "half[1] [0.1]");
    CHECK(to_string(array<tn::half>{65504}) == "half[1] [65504]");
    CHECK(to_string(array<tn::bfloat16>{0.1F, 3}) == "bfloat16[2] [0.1, 3  ]");
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(to_string(array<float>{std::numeric_limits<float>::quiet_NaN(), 1}) == "float[2] [nan,   1]");
    CHECK(to_string(array<tn::half>{std::numeric_limits<tn::half>::quiet_NaN()}) == "half[1] [nan]");
    // A processor's own NaN, that of 0 / 0, has its sign set; NumPy says nan, too.
    const double negative = std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0);
    CHECK(to_string(array<double>{negative, -1}) == "double[2] [nan,  -1]");
    CHECK(to_string(array<float>{static_cast<float>(negative)}) == "float[1] [nan]");
    CHECK(to_string(array<tn::half>{tn::half(static_cast<float>(negative))}) == "half[1] [nan]");
    CHECK(to_string(array<float>{inf, -inf, 1}) == "float[3] [ inf, -inf,    1]");
    CHECK(to_string(array<float>{1e-20F, 1}) == "float[2] [1e-20,     1]");
}

TEST_CASE("slices of more than two dimensions are set apart by empty lines") {
    CHECK(to_string(array<std::int32_t>{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}) == "int32[2, 2, 2]\n"
                                                                                "[[[1, 2],\n"
                                                                                "  [3, 4]],\n"
                                                                                "\n"
                                                                                " [[5, 6],\n"
                                                                                "  [7, 8]]]");
}

TEST_CASE("of more than 1000 elements the first and last three along each axis are shown") {
    array<std::int32_t> a(extents{4, 1000});
    for (std::int64_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int32_t>(i);
    CHECK(to_string(a) == "int32[4, 1000]\n"
                          "[[   0,    1,    2, ...,  997,  998,  999],\n"
                          " [1000, 1001, 1002, ..., 1997, 1998, 1999],\n"
                          " [2000, 2001, 2002, ..., 2997, 2998, 2999],\n"
                          " [3000, 3001, 3002, ..., 3997, 3998, 3999]]");
    CHECK(to_string(a.reshape({1000, 4})) == "int32[1000, 4]\n"
                                             "[[   0,    1,    2,    3],\n"
                                             " [   4,    5,    6,    7],\n"
                                             " [   8,    9,   10,   11],\n"
                                             " ...,\n"
                                             " [3988, 3989, 3990, 3991],\n"
                                             " [3992, 3993, 3994, 3995],\n"
                                             " [3996, 3997, 3998, 3999]]");
}

TEST_CASE("long rows are broken at 100 columns") {
    const std::string text = to_string(array<std::int32_t>(extents{500}));
    std::istringstream lines(text);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) CHECK(line.size() <= 100);
    CHECK(count > 10);
}

TEST_CASE("strings are quoted, escaped, and cut after 200 bytes") {
    CHECK(to_string(array<std::string>{"a\"b", "x\ny\x01"}) == R"(string[2] ["a\"b", "x\ny\x01"])");
    CHECK(to_string(array<std::string>(std::string(300, 'x'))) == "string[] \"" + std::string(200, 'x') + "...\"");
}
