#include <tenon/ops/image/image_geometry.hpp>

#include "image_arrays.hpp"

using namespace tenon::test;
using tn::array, tn::dyn, tn::extents, tn::shape;

namespace {

// A batch of images whose pixel says where it is: 256 times its row and its column.
array<std::int32_t> places(std::int64_t batch, std::int64_t height, std::int64_t width) {
    array<std::int32_t> a(extents{batch, height, width, 1});
    for (std::int64_t i = 0; i < a.size(); ++i)
        a[i] = static_cast<std::int32_t>(256 * (i / width % height) + i % width);
    return a;
}

} // namespace

TEST_CASE_TEMPLATE("random_flip_left_right mirrors about the asked part of the images, whole ones", T, float,
                   std::uint8_t, bool, tn::half) {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<T, shape<batch, 2, 3, 2>>("x");
    const auto y = tn::random_flip_left_right(x, {.probability = 0.25, .seed = 7});
    tn::session s(tn::graph::current());
    array<T> a(extents{4000, 2, 3, 2});
    for (std::int64_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<float>(i % 12 == 0 || i % 12 == 11));
    const auto r = s.run(tn::feed(x, a.share()), y);
    int mirrored = 0;
    for (std::int64_t b = 0; b < 4000; ++b) {
        const T* image = r.span().data() + 12 * b;
        const bool flipped = image[0] != a[0]; // pixel (0, 0) has a 1 in its first channel, (1, 2) in its second
        mirrored += flipped;
        for (int i = 0; i < 12; ++i) {
            const int row = i / 6, column = i / 2 % 3, channel = i % 2;
            REQUIRE(image[i] == a[row * 6 + (flipped ? 2 - column : column) * 2 + channel]);
        }
    }
    CHECK(mirrored > 880); // 1000 on average, with a deviation of 27
    CHECK(mirrored < 1120);
}

TEST_CASE_FIXTURE(in_graph, "random_crop takes each place as often, for each image its own") {
    const auto x = tn::placeholder<std::int32_t, shape<dyn, dyn, dyn, 1>>("x");
    const auto y = tn::random_crop<4, 3>(x, {.seed = 1});
    tn::session s(tn::graph::current());
    const auto r = s.run(tn::feed(x, places(9000, 6, 5)), y);
    std::map<std::pair<int, int>, int> found;
    for (std::int64_t b = 0; b < 9000; ++b) {
        const std::int32_t* image = r.span().data() + 12 * b;
        for (int i = 0; i < 12; ++i) REQUIRE(image[i] - image[0] == 256 * (i / 3) + i % 3);
        ++found[{image[0] / 256, image[0] % 256}];
    }
    REQUIRE(found.size() == 9); // 3 rows and 3 columns to begin at
    for (const auto& [place, count] : found) {
        CHECK(count > 850); // 1000 on average, with a deviation of 30
        CHECK(count < 1150);
    }
}

TEST_CASE_FIXTURE(in_graph, "a place outside fails the step and says of which image, which row and what is possible") {
    const auto x = tn::placeholder<std::uint8_t, shape<batch, 6, 5, 1>>("x");
    const auto p = tn::placeholder<std::int32_t, shape<batch, 2>>("p");
    const auto y = tn::crop_at<4, 3>(x, p);
    tn::session s(tn::graph::current());
    const auto run = [&](std::int32_t row, std::int32_t column) {
        return s.run(tn::feed(x, images<std::uint8_t>({2, 6, 5, 1})),
                     tn::feed(p, array<std::int32_t>({{0, 0}, {row, column}})), y);
    };
    CHECK(run(2, 2)[12] == images<std::uint8_t>({2, 6, 5, 1})[30 + 12]);
    CHECK_ERROR(tn::invalid_argument_error, "image 1 is cut from row 3 on, which must be 0 .. 2", run(3, 0));
    CHECK_ERROR(tn::invalid_argument_error, "image 1 is cut from column -1 on, which must be 0 .. 2", run(0, -1));
    const auto parts = tn::placeholder<float, shape<batch, 2>>("parts");
    const auto z = tn::crop_at<4, 3>(x, parts);
    for (const float bad : {-0.1F, 1.0F, std::nanf("")})
        CHECK_THROWS_AS(
            s.run(tn::feed(x, images<std::uint8_t>({1, 6, 5, 1})), tn::feed(parts, array<float>({{bad, 0.0F}})), z),
            tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "sizes that a step tells are checked in the step") {
    const auto x = tn::placeholder<float, shape<dyn, dyn, dyn, 1>>("x");
    const auto cropped = tn::center_crop<4, 4>(x), padded = tn::pad_to<4, 4>(x);
    tn::session s(tn::graph::current());
    CHECK(s.run(tn::feed(x, images<float>({1, 5, 5, 1})), cropped).extents() == extents{1, 4, 4, 1});
    CHECK(s.run(tn::feed(x, images<float>({1, 3, 3, 1})), padded).extents() == extents{1, 4, 4, 1});
    CHECK_THROWS_AS(s.run(tn::feed(x, images<float>({1, 3, 5, 1})), cropped), tn::invalid_argument_error);
    CHECK_THROWS_AS(s.run(tn::feed(x, images<float>({1, 3, 5, 1})), padded), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::pad_to(tn::constant<shape<2, 2, 1>>(images<std::uint8_t>({2, 2, 1})), 4, 4, 256),
                    tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::crop(x, -1, 0, 2, 2), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::random_flip_up_down(x, {.probability = 1.5}), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "a single image is mirrored and cut as a batch of one") {
    const auto x = tn::constant<shape<3, 4, 1>>(images<float>({3, 4, 1}));
    const auto one = tn::expand_dims<0>(x);
    tn::session s(tn::graph::current());
    const auto [a, b, c, d] =
        s.run(tn::flip_left_right(x), tn::flip_left_right(one), tn::crop<1, 1, 2, 2>(x), tn::crop<1, 1, 2, 2>(one));
    CHECK(std::equal(a.span().begin(), a.span().end(), b.span().begin()));
    CHECK(a.span()[0] == images<float>({3, 4, 1})[3]);
    CHECK(std::equal(c.span().begin(), c.span().end(), d.span().begin()));
}

TEST_CASE("SEMANTICS 21: random flips and crops are the same for the same seed on any number of threads") {
    using S = shape<batch, 16, 16, 3>;
    const auto a = images<float>({300, 16, 16, 3});
    check_seeded<float, S>(a, [](auto x) { return tn::random_flip_left_right(x, {.seed = 5}); });
    check_seeded<float, S>(a, [](auto x) { return tn::random_flip_up_down(x, {.seed = 5}); });
    check_seeded<float, S>(a, [](auto x) { return tn::random_crop<8, 8>(x, {.seed = 5}); });
}
