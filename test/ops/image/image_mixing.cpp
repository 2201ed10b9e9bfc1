#include <tenon/ops/image/image_mixing.hpp>

#include "image_arrays.hpp"

using namespace tenon::test;
using tn::array, tn::dyn, tn::extents, tn::shape;

namespace {

// What is hidden of image b of height x width pixels: the first row, the first column, rows and columns, all of which are.
struct box {
    int top = 1000, left = 1000, bottom = -1, right = -1;
    int pixels = 0;
    int height() const { return bottom - top + 1; }
    int width() const { return right - left + 1; }
};
template <class A> box hidden_in(const A& a, int b, int height, int width) {
    box found;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            if (a.span()[static_cast<std::size_t>((b * height + y) * width + x)] != 0) continue;
            found.top = std::min(found.top, y), found.bottom = std::max(found.bottom, y);
            found.left = std::min(found.left, x), found.right = std::max(found.right, x);
            ++found.pixels;
        }
    return found;
}

// Images 0, 1, ... of one value each, and labels that say the same.
array<float> numbered(std::int64_t batch, const extents& sizes) {
    array<float> a(sizes);
    for (std::int64_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i / (a.size() / batch));
    return a;
}
array<float> one_of_each(std::int64_t n) {
    array<float> a = array<float>::full({n, n}, 0.0F);
    for (std::int64_t i = 0; i < n; ++i) a[i * n + i] = 1;
    return a;
}

} // namespace

TEST_CASE_TEMPLATE("cutout hides a box about each pixel as often, cut off at the border", T, float, std::uint8_t) {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<T, shape<batch, dyn, dyn, 1>>("x");
    const auto y = tn::cutout<3, 2>(x, {.seed = 9});
    tn::session s(tn::graph::current());
    const auto r = s.run(tn::feed(x, array<T>::full({6000, 5, 4, 1}, T(1))), y);
    std::array<int, 5> rows{};
    std::array<int, 4> columns{};
    for (int b = 0; b < 6000; ++b) {
        const box found = hidden_in(r, b, 5, 4);
        REQUIRE(found.pixels == found.height() * found.width());
        const int middle = found.top == 0 ? found.bottom - 1 : found.top + 1;
        const int across = found.left == 0 && found.width() == 1 ? 0 : found.left + 1;
        REQUIRE((found.height() == 3 || (found.height() == 2 && (middle == 0 || middle == 4))));
        REQUIRE((found.width() == 2 || (found.width() == 1 && across == 0)));
        ++rows[static_cast<std::size_t>(middle)];
        ++columns[static_cast<std::size_t>(across)];
    }
    for (const int n : rows) CHECK(std::abs(n - 1200) < 150);    // deviation 31
    for (const int n : columns) CHECK(std::abs(n - 1500) < 165); // deviation 34
}

TEST_CASE(
    "random_erasing hides boxes within the image of the areas and aspects that are asked for, as often as asked for") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<float, shape<batch, 60, 60, 1>>("x");
    const auto y = tn::random_erasing(
        x, {.probability = 0.3, .min_area = 0.1, .max_area = 0.2, .min_aspect = 0.5, .max_aspect = 2, .seed = 3});
    tn::session s(tn::graph::current());
    const auto r = s.run(tn::feed(x, array<float>::full({1500, 60, 60, 1}, 1.0F)), y);
    int erased = 0;
    double tall = 0, area = 0;
    for (int b = 0; b < 1500; ++b) {
        const box found = hidden_in(r, b, 60, 60);
        if (found.pixels == 0) continue;
        ++erased;
        REQUIRE(found.pixels == found.height() * found.width());
        const double aspect = static_cast<double>(found.height()) / found.width();
        REQUIRE(found.pixels >= 330); // 0.1 of 3600, with both sides rounded
        REQUIRE(found.pixels <= 760);
        REQUIRE(aspect > 0.46);
        REQUIRE(aspect < 2.17);
        tall += found.height() > found.width() ? 1 : found.height() == found.width() ? 0.5 : 0;
        area += found.pixels / 3600.0;
    }
    CHECK(std::abs(erased - 450) < 80); // deviation 18
    CHECK(std::fabs(tall / erased - 0.5) < 0.12);
    CHECK(std::fabs(area / erased - 0.15) < 0.01);
}

TEST_CASE("mixup mixes images and labels with one weight for each, which is Beta(alpha, alpha), and a partner") {
    for (const double alpha : {0.2, 1.0, 3.0}) {
        const tn::graph_scope scope{tn::graph()};
        const auto x = tn::placeholder<float, shape<batch, 2, 2, 1>>("x");
        const auto labels = tn::placeholder<float, shape<batch, 500>>("labels");
        const auto [images, mixed] = tn::mixup(x, labels, {.alpha = alpha, .seed = 6});
        tn::session s(tn::graph::current());
        double sum = 0, squares = 0;
        int n = 0;
        for (int run = 0; run < 8; ++run) {
            const auto [a, l] =
                s.run(tn::feed(x, numbered(500, {500, 2, 2, 1})), tn::feed(labels, one_of_each(500)), images, mixed);
            std::vector<int> partner_of(500, 0);
            for (int b = 0; b < 500; ++b) {
                const float* row = l.span().data() + 500 * b;
                double total = 0, place = 0;
                int partner = b;
                for (int k = 0; k < 500; ++k) {
                    total += row[k], place += static_cast<double>(k) * row[k];
                    if (row[k] > 0 && k != b) partner = k;
                }
                REQUIRE(total == doctest::Approx(1));
                for (int k = 0; k < 4; ++k)
                    REQUIRE(a.span()[static_cast<std::size_t>(4 * b + k)] == doctest::Approx(place).epsilon(1e-4));
                ++partner_of[static_cast<std::size_t>(partner)];
                if (partner == b) continue; // itself, or a weight of 1
                const double w = row[b];
                sum += w, squares += w * w, ++n;
            }
            CHECK(*std::max_element(partner_of.begin(), partner_of.end()) <= 3);
        }
        // Of a weight that is 1 to the last bit no partner is seen, which for 0.2 are some: means of what is seen.
        const double mean = sum / n, variance = squares / n - mean * mean;
        INFO("alpha " << alpha << ", mean " << mean << ", variance " << variance << ", of " << n);
        CHECK(std::fabs(mean - 0.5) < 0.05);
        CHECK(std::fabs(variance - 1 / (4 * (2 * alpha + 1))) < 0.02);
    }
}

TEST_CASE_FIXTURE(in_graph, "cutmix puts a box of a partner into each image, and mixes the labels as the areas are") {
    const auto x = tn::placeholder<float, shape<batch, 12, 12, 1>>("x");
    const auto labels = tn::placeholder<float, shape<batch, 300>>("labels");
    const auto [images, mixed] = tn::cutmix(x, labels, {.seed = 6});
    tn::session s(tn::graph::current());
    const auto [a, l] =
        s.run(tn::feed(x, numbered(300, {300, 12, 12, 1})), tn::feed(labels, one_of_each(300)), images, mixed);
    int foreign = 0;
    for (int b = 0; b < 300; ++b) {
        const float* image = a.span().data() + 144 * b;
        const float* row = l.span().data() + 300 * b;
        int partner = b, of_partner = 0;
        for (int k = 0; k < 144; ++k)
            if (image[k] != static_cast<float>(b)) {
                if (partner == b) partner = static_cast<int>(image[k]);
                REQUIRE(image[k] == static_cast<float>(partner));
                ++of_partner;
            }
        foreign += of_partner;
        REQUIRE(row[b] == doctest::Approx(1 - of_partner / 144.0).epsilon(1e-5));
        if (partner != b) REQUIRE(row[partner] == doctest::Approx(of_partner / 144.0).epsilon(1e-4));
    }
    CHECK(foreign > 300 * 144 / 5); // half of it, less what is cut off
    CHECK(foreign < 300 * 144 / 2);
}

TEST_CASE_FIXTURE(in_graph, "what hides or mixes refuses what is not possible") {
    const auto x = tn::placeholder<float, shape<batch, 4, 4, 1>>("x");
    const auto labels = tn::placeholder<float, shape<batch, 3>>("labels");
    CHECK_THROWS_AS(tn::random_erasing(x, {.probability = 2}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_erasing(x, {.min_area = 0.5, .max_area = 0.2}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_erasing(x, {.min_aspect = 0}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::mixup(x, labels, {.alpha = 0}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::cutmix(x, labels, {.alpha = -1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::cutout(x, 0, 3), tn::invalid_argument_error);
    const tn::any_tensor bytes = tn::untyped::placeholder(tn::element_type::uint8, {2, 2, 2, 3});
    CHECK_THROWS_AS(tn::untyped::cutout(bytes, 1, 1, {.value = 0.5}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::mixup(bytes, labels), tn::invalid_argument_error);
}

TEST_CASE("SEMANTICS 21: what is hidden and mixed is the same for the same seed on any number of threads") {
    using S = shape<batch, 16, 16, 3>;
    const auto a = images<float>({300, 16, 16, 3});
    check_seeded<float, S>(a, [](auto x) { return tn::cutout<4, 4>(x, {.seed = 5}); });
    check_seeded<float, S>(a, [](auto x) { return tn::random_erasing(x, {.seed = 5}); });
    using N = shape<300, 16, 16, 3>;
    const auto mixed = [](auto x, auto how) { return how(x, tn::zeros<float, shape<300, 2>>()).first; };
    check_seeded<float, N>(
        a, [&](auto x) { return mixed(x, [](auto i, auto l) { return tn::mixup(i, l, {.seed = 5}); }); });
    check_seeded<float, N>(
        a, [&](auto x) { return mixed(x, [](auto i, auto l) { return tn::cutmix(i, l, {.seed = 5}); }); });
}
