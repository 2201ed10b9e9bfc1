#include <tenon/ops/image/image_color.hpp>

#include "../check_gradients.hpp"
#include "image_arrays.hpp"

using namespace tenon::test;
using tn::array, tn::dyn, tn::extents, tn::shape;

namespace {

// Colours, and what Python's colorsys makes of them.
const std::vector<double> rgb = {0,     0,     0,     1,     1,     1,     1,     0,     0,     0,     1,     0,
                                 0,     0,     1,     0.5,   0.25,  0.75,  0.2,   0.9,   0.4,   0.9,   0.9,   0.1,
                                 0.1,   0.6,   0.6,   0.8,   0.3,   0.3,   0.134, 0.847, 0.764, 0.255, 0.495, 0.449,
                                 0.652, 0.789, 0.094, 0.028, 0.836, 0.433, 0.762, 0.002, 0.445, 0.722, 0.229, 0.945};
const std::vector<double> hsv = {
    0,           0,           0,           0,           0,           1,           0,           1,
    1,           0.333333333, 1,           1,           0.666666667, 1,           1,           0.75,
    0.666666667, 0.75,        0.380952381, 0.777777778, 0.9,         0.166666667, 0.888888889, 0.9,
    0.5,         0.833333333, 0.6,         0,           0.625,       0.8,         0.48059841,  0.841794569,
    0.847,       0.468055556, 0.484848485, 0.495,       0.199520384, 0.88086185,  0.789,       0.416872937,
    0.966507177, 0.836,       0.902850877, 0.997375328, 0.762,       0.781424581, 0.757671958, 0.945};
const std::vector<double> turned = {
    0,     0,     0,     1,     1,     1,     0.2,   1,      0,     0,     0.2,   1,     1,     0,     0.2,    0.75,
    0.4,   0.25,  0.26,  0.2,   0.9,   0.1,   0.9,   0.74,   0.5,   0.1,   0.6,   0.4,   0.8,   0.3,   0.6214, 0.134,
    0.847, 0.401, 0.255, 0.495, 0.094, 0.789, 0.787, 0.2714, 0.028, 0.836, 0.597, 0.762, 0.002, 0.945, 0.5788, 0.229};
const std::vector<double> turned_back = {
    0,     0,     0,     1,     1,     1,      1,     0,      0.9,   0.9,   1,     0,     0,     0.9,   1,      0.25,
    0.45,  0.75,  0.63,  0.9,   0.2,   0.9,    0.18,  0.1,    0.1,   0.6,   0.15,  0.8,   0.3,   0.75,  0.1457, 0.847,
    0.134, 0.277, 0.495, 0.255, 0.789, 0.3005, 0.094, 0.3502, 0.836, 0.028, 0.395, 0.002, 0.762, 0.229, 0.3804, 0.945};
const std::vector<double> more_saturated = {
    0,           0,     0,   1,     1,     1,           1,     0,     0,           0,           1,     0,
    0,           0,     1,   0.375, 0,     0.75,        0,     0.9,   0.257142857, 0.9,         0.9,   0,
    0,           0.6,   0.6, 0.8,   0,     0,           0,     0.847, 0.748401122, 0.087,       0.495, 0.4168,
    0.633470504, 0.789, 0,   0,     0.836, 0.419034653, 0.762, 0,     0.444165789, 0.650677374, 0,     0.945};
const std::vector<double> less_saturated = {0,      0,      0,      1,     1,      1,      1,      0.6,   0.6,   0.6,
                                            1,      0.6,    0.6,    0.6,   1,      0.65,   0.55,   0.75,  0.62,  0.9,
                                            0.7,    0.9,    0.9,    0.58,  0.4,    0.6,    0.6,    0.8,   0.6,   0.6,
                                            0.5618, 0.847,  0.8138, 0.399, 0.495,  0.4766, 0.7342, 0.789, 0.511, 0.5128,
                                            0.836,  0.6748, 0.762,  0.458, 0.6352, 0.8558, 0.6586, 0.945};

template <class T, class F> auto of_colors(const std::vector<double>& colors, F&& f) {
    const tn::graph_scope scope{tn::graph()};
    array<T> a(extents{1, 4, 4, 3});
    for (std::int64_t i = 0; i < 48; ++i)
        a[i] = static_cast<T>(static_cast<float>(colors[static_cast<std::size_t>(i)]));
    if constexpr (std::is_same_v<T, double>)
        for (std::int64_t i = 0; i < 48; ++i) a[i] = colors[static_cast<std::size_t>(i)];
    const auto y = f(tn::constant<shape<1, 4, 4, 3>>(std::move(a)));
    tn::session s(tn::graph::current());
    return s.run(y);
}

} // namespace

TEST_CASE_TEMPLATE("HSV, hues and saturations are those of Python's colorsys", T, float, double) {
    const double near = std::is_same_v<T, double> ? 1e-8 : 2e-6;
    check_close(of_colors<T>(rgb, [](auto x) { return tn::rgb_to_hsv(x); }), hsv, near);
    check_close(of_colors<T>(hsv, [](auto x) { return tn::hsv_to_rgb(x); }), rgb, near);
    check_close(of_colors<T>(rgb, [](auto x) { return tn::adjust_hue(x, 0.3); }), turned, near);
    check_close(of_colors<T>(rgb, [](auto x) { return tn::adjust_hue(x, -0.15); }), turned_back, near);
    check_close(of_colors<T>(rgb, [](auto x) { return tn::adjust_hue(x, 1.3); }), turned, near);
    check_close(of_colors<T>(rgb, [](auto x) { return tn::adjust_saturation(x, 1.7); }), more_saturated, near);
    check_close(of_colors<T>(rgb, [](auto x) { return tn::adjust_saturation(x, 0.4); }), less_saturated, near);
}

TEST_CASE("brightness, contrast, gamma, gray and normalize by their formulas") {
    const auto at = [](std::size_t i) { return rgb[i]; };
    std::vector<double> bright, power, gray, normal, contrast;
    const double mean[] = {0.4, 0.5, 0.6}, deviation[] = {0.2, 0.25, 0.3};
    double sums[3] = {};
    for (std::size_t i = 0; i < 48; ++i) sums[i % 3] += at(i) / 16;
    for (std::size_t i = 0; i < 48; ++i) {
        bright.push_back(at(i) - 0.3);
        power.push_back(1.5 * std::pow(at(i), 0.8));
        normal.push_back((at(i) - mean[i % 3]) / deviation[i % 3]);
        contrast.push_back((at(i) - sums[i % 3]) * 1.6 + sums[i % 3]);
        if (i % 3 == 0) gray.push_back(0.2989 * at(i) + 0.587 * at(i + 1) + 0.114 * at(i + 2));
    }
    check_close(of_colors<double>(rgb, [](auto x) { return tn::adjust_brightness(x, -0.3); }), bright, 1e-12);
    check_close(of_colors<double>(rgb, [](auto x) { return tn::adjust_gamma(x, 0.8, 1.5); }), power, 1e-12);
    check_close(of_colors<double>(rgb, [](auto x) { return tn::adjust_contrast(x, 1.6); }), contrast, 1e-12);
    check_close(of_colors<double>(rgb, [](auto x) { return tn::rgb_to_grayscale(x); }), gray, 1e-12);
    check_close(of_colors<double>(rgb,
                                  [](auto x) {
                                      return tn::tensor<double, shape<1, 4, 4, 3>>(
                                          tn::normalize(x, {0.4, 0.5, 0.6}, {0.2, 0.25, 0.3}).materialize());
                                  }),
                normal, 1e-12);
}

TEST_CASE("gradients go through colours") {
    const std::vector<double> colors = {0.1, 0.5, 0.8, 0.9, 0.35, 0.6, 0.2, 0.7, 0.45, 0.55, 0.15, 0.25};
    const auto x = given(input<shape<1, 2, 2, 3>>(), colors);
    const auto w = tn::test::input<shape<1, 2, 2, 3>>();
    CHECK(check_gradients([](auto a, auto b) { return tn::sum(tn::adjust_hue(a, 0.21) * b); }, x, w) == "");
    CHECK(check_gradients([](auto a, auto b) { return tn::sum(tn::adjust_saturation(a, 0.7) * b); }, x, w) == "");
    CHECK(check_gradients([](auto a, auto b) { return tn::sum(tn::rgb_to_hsv(a) * b); }, x, w) == "");
    CHECK(check_gradients([](auto a, auto b) { return tn::sum(tn::hsv_to_rgb(a) * b); }, x, w) == "");
    CHECK(check_gradients([](auto a, auto b) { return tn::sum(tn::adjust_contrast(a, 1.7) * b); }, x, w) == "");
    CHECK(check_gradients([](auto a, auto b) { return tn::sum(tn::adjust_gamma(a, 1.7) * b); }, x, w) == "");
}

TEST_CASE_FIXTURE(in_graph, "random amounts are even in their bounds, and each image's own") {
    const auto x = tn::placeholder<float, shape<batch, 2, 2, 3>>("x");
    const auto brighter = tn::random_brightness(x, 0.5, {.seed = 1});
    const auto darker = tn::random_gamma(x, 1, 3, {.seed = 1});
    const auto same = tn::random_contrast(x, 1, 1);
    tn::session s(tn::graph::current());
    const auto [a, b, c] = s.run(tn::feed(x, array<float>::full({4000, 2, 2, 3}, 0.5F)), brighter, darker, same);
    std::set<float> seen;
    double sum = 0, squares = 0, together = 0, of_gamma = 0;
    for (std::int64_t i = 0; i < 4000; ++i) {
        const float delta = a.span()[static_cast<std::size_t>(12 * i)] - 0.5F;
        for (std::int64_t k = 1; k < 12; ++k)
            REQUIRE(a.span()[static_cast<std::size_t>(12 * i + k)] == a.span()[static_cast<std::size_t>(12 * i)]);
        REQUIRE(std::fabs(delta) <= 0.5F);
        const double gamma = -std::log2(b.span()[static_cast<std::size_t>(12 * i)]) - 2; // even in [-1, 1)
        REQUIRE(std::fabs(gamma) < 1.0001);
        seen.insert(delta);
        sum += delta;
        squares += delta * delta;
        of_gamma += gamma;
        together += delta * gamma;
    }
    CHECK(seen.size() > 3900);
    CHECK(std::fabs(sum / 4000) < 0.025); // deviation 0.0046
    CHECK(squares / 4000 == doctest::Approx(1.0 / 12).epsilon(0.08));
    CHECK(std::fabs(of_gamma / 4000) < 0.05);
    CHECK(std::fabs(together / 4000) < 0.015); // one seed for both, and yet not one number: else it were 1/6
    CHECK(c.span()[0] == 0.5F);
}

TEST_CASE_FIXTURE(in_graph, "what is no amount is refused") {
    const auto x = tn::placeholder<float, shape<batch, 2, 2, 3>>("x");
    CHECK_THROWS_AS(tn::random_brightness(x, -1), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_hue(x, 0.6), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_contrast(x, 2, 1), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_saturation(x, 0, INFINITY), tn::invalid_argument_error);
    const tn::any_tensor bytes = tn::untyped::placeholder(tn::element_type::uint8, {2, 2, 2, 3});
    CHECK_ERROR(tn::invalid_argument_error, "adjust_hue: element type must be", tn::untyped::adjust_hue(bytes, 0.1));
    const tn::any_tensor gray = tn::untyped::placeholder(tn::element_type::float32, {2, 2, 2, 1});
    CHECK_ERROR(tn::invalid_argument_error, "numbers of channels differ", tn::untyped::rgb_to_hsv(gray));
}

TEST_CASE("SEMANTICS 21: random colours are the same for the same seed on any number of threads") {
    using S = shape<batch, 8, 8, 3>;
    const auto a = images<float>({60, 8, 8, 3});
    check_seeded<float, S>(a, [](auto x) { return tn::random_brightness(x, 0.2, {.seed = 5}); });
    check_seeded<float, S>(a, [](auto x) { return tn::random_contrast(x, 0.5, 2, {.seed = 5}); });
    check_seeded<float, S>(a, [](auto x) { return tn::random_hue(x, 0.2, {.seed = 5}); });
    check_seeded<float, S>(a, [](auto x) { return tn::random_saturation(x, 0.5, 2, {.seed = 5}); });
}
