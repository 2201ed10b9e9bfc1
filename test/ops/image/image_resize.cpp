#include <tenon/ops/image/image_geometry.hpp>
#include <tenon/ops/image/image_resize.hpp>
#include <tenon/ops/image/image_transform.hpp>

#include "image_arrays.hpp"

using namespace tenon::test;
using tn::array, tn::dyn, tn::extents, tn::shape;

namespace {

template <class F> auto of_image(F&& f) {
    const tn::graph_scope scope{tn::graph()};
    const auto y = f(tn::constant<shape<5, 7, 1>>(images<double>({5, 7, 1})));
    tn::session s(tn::graph::current());
    return s.run(y);
}

} // namespace

TEST_CASE("resize gives what other libraries give for half-pixel centres") {
    // PyTorch 2.15: interpolate(mode="bilinear", align_corners=False) and "nearest-exact"; TensorFlow: resize_area.
    check_close(of_image([](auto x) { return tn::resize<tn::bilinear, 3, 4>(x); }),
                {0.375, 1.41071429, 1.07738095, 0.196428571, -0.25, -0.0357142857, 0.589285714, 0.392857143,
                 0.357142857, 0.982142857, 1.60714286, 0.452380952},
                1e-8);
    check_close(of_image([](auto x) { return tn::resize<tn::nearest, 3, 4>(x); }),
                {0.571428571, 1.28571429, 2, -0.571428571, -1, -0.285714286, 0.428571429, 1.14285714, 0.714285714,
                 1.42857143, 2.14285714, -0.428571429},
                1e-8);
    check_close(of_image([](auto x) { return tn::resize<tn::interpolation::area, 3, 4>(x); }),
                {0.36326531, 0.97551018, 0.83673471, 0.32244897, 0.23265304, 0.65714288, 0.51836729, 0.56734693,
                 0.38367349, 0.62040818, 1.0448979, 0.53061235},
                1e-6);
    check_close(of_image([](auto x) { return tn::resize<tn::bilinear, 8, 5>(x); }),
                {0.314285714,   0.485714286,  0,
                 1.48571429,    -0.314285714, 0.689285714,
                 0.860714286,   0.375,        0.998214286,
                 0.0607142857,  1.06071429,   1.27321429,
                 0.910714286,   0.342857143,  0.555357143,
                 -0.0464285714, 0.576785714,  1.44642857,
                 0.0571428571,  0.680357143,  -0.332142857,
                 0.496428571,   0.955357143,  0.182142857,
                 1.01071429,    0.203571429,  1.03214286,
                 -0.5625,       0.717857143,  1.54642857,
                 0.369642857,   0.828571429,  -0.232142857,
                 1.25357143,    0.603571429,  0.457142857,
                 0.628571429,   0.142857143,  1.62857143,
                 -0.171428571},
                1e-8);
    check_close(of_image([](auto x) { return tn::resize<tn::nearest, 8, 5>(x); }),
                {0.571428571,
                 1.28571429,
                 0,
                 2,
                 -0.571428571,
                 0.571428571,
                 1.28571429,
                 0,
                 2,
                 -0.571428571,
                 1.42857143,
                 2.14285714,
                 0.857142857,
                 -0.428571429,
                 0.285714286,
                 -1,
                 -0.285714286,
                 1.71428571,
                 0.428571429,
                 1.14285714,
                 -1,
                 -0.285714286,
                 1.71428571,
                 0.428571429,
                 1.14285714,
                 -0.142857143,
                 0.571428571,
                 -0.714285714,
                 1.28571429,
                 2,
                 0.714285714,
                 1.42857143,
                 0.142857143,
                 2.14285714,
                 -0.428571429,
                 0.714285714,
                 1.42857143,
                 0.142857143,
                 2.14285714,
                 -0.428571429},
                1e-8);
    check_close(of_image([](auto x) { return tn::resize<tn::interpolation::area, 8, 5>(x); }),
                {0.20408168, 0.42857137, 0.46938756,  1.44898,     -0.20408161, 0.54693884, 0.77142853, 0.62448972,
                 1.0408164,  0.13877559, 1.0612246,   1.2857144,   0.85714304,  0.42857125, 0.65306133, -0.13061225,
                 0.4693878,  1.167347,   -0.01224483, 0.58775508,  -0.2571429,  0.43673474, 0.94693875, 0.048979726,
                 0.74285716, 0.4285714,  1.1224489,   -0.24489813, 0.73469406,  1.4285715,  0.37959185, 0.79183668,
                 0.2693876,  1.2489798,  0.53469396,  0.34693882,  0.57142854,  0.61224473, 1.591837,   -0.061224423},
                1e-6);
}

TEST_CASE("rotate gives what other libraries give: counter-clockwise, about the middle") {
    // PyTorch 2.15: grid_sample(padding_mode="zeros", align_corners=True) at the turned places.
    check_close(of_image([](auto x) { return tn::rotate(x, 0.5); }),
                {0,           0.292799464,  0.124407361,  1.35620573,   1.156139,
                 0.636599944, 0.355814849,  -0.353808379, 0.874434853,  1.06305209,
                 0.345667826, 0.0953323507, -0.318302805, 1.4413442,    0.580724211,
                 0.634694843, 0.930601032,  1.71428571,   0.80406273,   0.279517193,
                 0.729971638, 0.321114124,  0.523801548,  0.514573578,  0.00657931896,
                 0.388035276, 1.64813508,   0.451542782,  -0.297471815, 0.254522495,
                 1.12538134,  1.16580721,   0.189320352,  0.496320661,  0},
                1e-6);
    check_close(of_image([](auto x) { return tn::rotate(x, -2.1); }),
                {0,           0.280873663, 0.969015413,  1.49056971,  0.663027046, 0.646951874, 0.707036003,
                 0,           0.335032332, 0.0619431694, 0.193686639, 0.624432976, 0.207134595, -0.209228103,
                 0.60788713,  1.8958975,   0.400706744,  1.71428571,  1.39657425,  1.5008281,   0.105316883,
                 0.339973532, 0.353331656, 0.262525762,  0.171719868, 0.514291668, 0.144779801, 0,
                 0.449037868, 1.22941605,  -0.150177079, 1.02467085,  1.49898405,  0.378272574, 0},
                1e-6);
    check_close(of_image([](auto x) { return tn::rotate(x, 0.5, {.method = tn::nearest}); }),
                {0,
                 0,
                 0,
                 2,
                 1.57142857,
                 0.285714286,
                 0,
                 -0.714285714,
                 1.28571429,
                 0.857142857,
                 0.857142857,
                 0.428571429,
                 -0.857142857,
                 2,
                 1.42857143,
                 0.142857143,
                 -0.285714286,
                 1.71428571,
                 0.428571429,
                 0,
                 2,
                 1.42857143,
                 1,
                 -0.285714286,
                 -0.714285714,
                 -0.714285714,
                 2.14285714,
                 0.857142857,
                 0,
                 -0.142857143,
                 1.85714286,
                 1.42857143,
                 0.142857143,
                 0,
                 0},
                1e-8);
    // A quarter turn: the right column becomes the top row.
    const tn::graph_scope scope{tn::graph()};
    const auto y =
        tn::rotate(tn::constant<shape<3, 3, 1>>(array<float>({{{0}, {1}, {2}}, {{3}, {4}, {5}}, {{6}, {7}, {8}}})),
                   1.5707963267948966);
    tn::session s(tn::graph::current());
    check_close(s.run(y), {2, 5, 8, 1, 4, 7, 0, 3, 6}, 1e-5);
}

TEST_CASE_FIXTURE(in_graph, "what is resized to its own sizes, or turned by nothing, stays to the last bit") {
    const auto x = tn::constant<shape<2, 6, 5, 3>>(images<float>({2, 6, 5, 3}));
    tn::session s(tn::graph::current());
    const auto [a, b, c, d, e] = s.run(tn::resize<tn::bilinear, 6, 5>(x), tn::resize<tn::nearest, 6, 5>(x),
                                       tn::resize<tn::interpolation::area, 6, 5>(x), tn::rotate(x, 0.0), x);
    CHECK(a == e);
    CHECK(b == e);
    CHECK(c == e);
    CHECK(d == e);
}

TEST_CASE_FIXTURE(in_graph, "a mirrored image resized is the resized image mirrored") {
    const auto x = tn::constant<shape<2, 6, 5, 3>>(images<double>({2, 6, 5, 3}));
    tn::session s(tn::graph::current());
    const auto [a, b] = s.run(tn::resize<tn::bilinear, 4, 9>(tn::flip_left_right(x)),
                              tn::flip_left_right(tn::resize<tn::bilinear, 4, 9>(x)));
    check_close(a, std::vector<double>(b.span().begin(), b.span().end()), 1e-12);
}

TEST_CASE_FIXTURE(in_graph, "each image is turned by its own angle; random ones are even and each image's own") {
    const auto x = tn::placeholder<float, shape<batch, 9, 9, 1>>("x");
    const auto angles = tn::placeholder<float, shape<batch>>("angles");
    const auto each = tn::rotate(x, angles);
    const auto third = tn::rotate(x, 1.25);
    tn::session s(tn::graph::current());
    const auto [a, b] = s.run(tn::feed(x, images<float>({3, 9, 9, 1})),
                              tn::feed(angles, array<float>({0.0F, 0.5F, 1.25F})), each, third);
    for (std::int64_t i = 0; i < 81; ++i) CHECK(a[i] == images<float>({3, 9, 9, 1})[i]);
    for (std::int64_t i = 162; i < 243; ++i) CHECK(a[i] == b[i]);

    // A lone pixel at a distance of 40 from the middle says by which angle it was turned.
    const auto lone = tn::placeholder<float, shape<batch, 81, 81, 1>>("lone");
    const auto turned = tn::random_rotation(lone, 0.5, {.seed = 4});
    array<float> dot = array<float>::full({400, 81, 81, 1}, 0.0F);
    for (std::int64_t i = 0; i < 400; ++i) dot[(i * 81 + 40) * 81 + 78] = 1;
    const auto r = s.run(tn::feed(lone, dot.share()), turned);
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < 400; ++i) {
        double row = 0, column = 0, weight = 0;
        for (std::int64_t p = 0; p < 81 * 81; ++p) {
            const double v = r.span()[static_cast<std::size_t>(i * 81 * 81 + p)];
            row += v * static_cast<double>(p / 81), column += v * static_cast<double>(p % 81), weight += v;
        }
        const double angle = std::atan2(40 - row / weight, column / weight - 40);
        REQUIRE(std::fabs(angle) < 0.51);
        sum += angle;
        squares += angle * angle;
    }
    CHECK(std::fabs(sum / 400) < 0.06); // deviation 0.0144
    CHECK(squares / 400 == doctest::Approx(0.25 / 3).epsilon(0.15));
}

TEST_CASE("a matrix that is not finite shows what lies around the image; options out of range are refused") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::constant<shape<3, 3, 1>>(images<float>({3, 3, 1}));
    const auto m = tn::placeholder<float, shape<6>>("m");
    const auto y = tn::affine_transform(x, m, {.value = 7}), z = tn::affine_transform(x, m, {tn::nearest, 7});
    tn::session s(tn::graph::current());
    for (const float bad : {std::nanf(""), INFINITY}) {
        const auto [a, b] = s.run(tn::feed(m, array<float>({bad, bad, bad, bad, bad, bad})), y, z);
        for (int i = 0; i < 9; ++i) {
            CHECK(a.span()[static_cast<std::size_t>(i)] == 7);
            CHECK(b.span()[static_cast<std::size_t>(i)] == 7);
        }
    }
    CHECK_THROWS_AS(tn::affine_transform(x, m, {tn::interpolation::area, 0}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_rotation(x, -1), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::resize(x, tn::bilinear, -1, 3), tn::invalid_argument_error);
}

TEST_CASE("SEMANTICS 21: random rotations are the same for the same seed on any number of threads") {
    check_seeded<float, shape<batch, 16, 16, 3>>(images<float>({40, 16, 16, 3}),
                                                 [](auto x) { return tn::random_rotation(x, 0.3, {.seed = 5}); });
}
