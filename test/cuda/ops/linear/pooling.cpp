#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "../gpu_run.hpp"
#include "ops/random/random_arrays.hpp"
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/linear/pooling.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

// Pools on a GPU against their definitions in double.

namespace tn = tenon;
using tn::any_array, tn::any_tensor, tn::extents, tn::pool2d_options;
using tn::test::element, tn::test::random_array;

namespace {

template <class T> double tolerance() {
    return std::is_same_v<T, double>     ? 1e-14
           : std::is_same_v<T, float>    ? 1e-6
           : std::is_same_v<T, tn::half> ? 1e-3
                                         : 8e-3;
}

template <class T> void check_pools(const extents& image, const pool2d_options& o) {
    CAPTURE(tn::to_string(image));
    const std::int64_t n = image[0].size, height = image[1].size, width = image[2].size, channels = image[3].size;
    const std::int64_t sh = o.stride.height ? o.stride.height : o.window.height,
                       sw = o.stride.width ? o.stride.width : o.window.width;
    std::int64_t top = o.padding.top, left = o.padding.left;
    std::int64_t rows = (height + top + o.padding.bottom - o.window.height) / sh + 1;
    std::int64_t columns = (width + left + o.padding.right - o.window.width) / sw + 1;
    if (o.padding.kind == tn::padding::rule::same) {
        rows = (height + sh - 1) / sh;
        columns = (width + sw - 1) / sw;
        top = std::max<std::int64_t>(0, (rows - 1) * sh + o.window.height - height) / 2;
        left = std::max<std::int64_t>(0, (columns - 1) * sw + o.window.width - width) / 2;
    }
    const extents result{n, rows, columns, channels};
    CAPTURE(tn::to_string(result));
    const tn::graph g;
    const tn::graph_scope scope(g);
    const any_tensor x = tn::untyped::placeholder(tn::element_type_of<T>, image);
    const any_tensor dy = tn::untyped::placeholder(tn::element_type_of<T>, result);
    const any_tensor h = tn::untyped::placeholder(tn::element_type_of<T>, image);
    std::vector<any_tensor> asked;
    tn::on("/gpu:0", [&] {
        const any_tensor largest = tn::untyped::max_pool2d(x, o), mean = tn::untyped::average_pool2d(x, o);
        REQUIRE(largest.extents() == result);
        asked = {largest, mean, tn::detail::add_gradients({largest}, {x}, {dy})[0],
                 tn::detail::add_gradients({mean}, {x}, {dy})[0],
                 tn::add<tn::max_pool2d_pick_op>(tn::detail::attributes_of(o, false), {x, largest, h})};
        return 0;
    });
    // Few values, so that many windows have equal largest elements.
    any_array ax = random_array<T>(image, 1);
    for (std::int64_t i = 0; i < ax.elements(); ++i)
        ax.data<T>()[i] = static_cast<T>(static_cast<float>(std::floor(element<T>(ax, i))));
    const any_array ady = random_array<T>(result, 2), ah = random_array<T>(image, 3);
    tn::session s(g);
    std::vector<tn::fed_value> feeds;
    feeds.push_back({x, ax.share()});
    feeds.push_back({dy, ady.share()});
    feeds.push_back({h, ah.share()});
    const auto found = s.run_untyped(std::move(feeds), asked);

    std::vector<double> ymax, ymean, picked, gmax(static_cast<std::size_t>(ax.elements())), gmean(gmax);
    for (std::int64_t r = 0; r < result.elements(); ++r) {
        const std::int64_t c = r % channels, j = r / channels % columns, i = r / channels / columns % rows,
                           b = r / channels / columns / rows;
        std::vector<std::int64_t> inside;
        for (std::int64_t u = std::max<std::int64_t>(0, i * sh - top);
             u < std::min(height, i * sh - top + o.window.height); ++u)
            for (std::int64_t v = std::max<std::int64_t>(0, j * sw - left);
                 v < std::min(width, j * sw - left + o.window.width); ++v)
                inside.push_back(((b * height + u) * width + v) * channels + c);
        std::int64_t best = inside[0];
        double sum = 0;
        for (const std::int64_t k : inside) {
            if (element<T>(ax, k) > element<T>(ax, best)) best = k;
            sum += element<T>(ax, k);
        }
        const auto count = static_cast<double>(inside.size());
        ymax.push_back(element<T>(ax, best));
        ymean.push_back(sum / count);
        picked.push_back(element<T>(ah, best));
        gmax[static_cast<std::size_t>(best)] += element<T>(ady, r);
        for (const std::int64_t k : inside) gmean[static_cast<std::size_t>(k)] += element<T>(ady, r) / count;
    }
    const auto check = [&](const char* what, const any_array& a, const std::vector<double>& wanted, double scale) {
        REQUIRE(a.elements() == static_cast<std::int64_t>(wanted.size()));
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            const double f = element<T>(a, i), w = wanted[static_cast<std::size_t>(i)];
            INFO(what << " " << i << ": " << f << " instead of " << w);
            REQUIRE(std::fabs(f - w) <= scale * tolerance<T>() * (std::fabs(w) + 3));
        }
    };
    check("largest", found[0], ymax, 0);
    check("mean", found[1], ymean, 1);
    check("gradient of the largest", found[2], gmax, 1);
    check("gradient of the mean", found[3], gmean, 1);
    check("picked", found[4], picked, 0);
}

template <class T> void check_all(int drawn) {
    check_pools<T>({2, 6, 8, 3}, {});
    check_pools<T>({1, 7, 7, 2}, {.window = 3, .stride = 2, .padding = tn::same});
    check_pools<T>({1, 5, 6, 32}, {.window = {3, 2}, .stride = {1, 2}, .padding = tn::pad(2, 1, 1, 0)});
    check_pools<T>({1, 4, 4, 5}, {.window = 1, .stride = 3});
    check_pools<T>({2, 2, 3, 4}, {.window = 5, .stride = 2, .padding = tn::same});
    check_pools<T>({2, 5, 6, 8}, {.window = {2, 3}, .stride = {1, 2}, .padding = tn::same});
    check_pools<T>({2, 3, 5, 16}, {.window = 2, .stride = 1 << 30}); // as in images of more than 2^30 elements
    check_pools<T>({0, 4, 4, 2}, {});
    check_pools<T>({2, 4, 4, 0}, {});
    const std::uint64_t seed = tn::test::drawn_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](int from, int to) {
        return static_cast<int>(from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1)));
    };
    for (int i = 0; i < drawn; ++i) {
        pool2d_options o;
        o.window = {draw(1, 4), draw(1, 4)};
        o.stride = {draw(1, 4), draw(1, 4)};
        const int h = o.window.height - 1, w = o.window.width - 1, kind = draw(0, 2);
        if (kind == 1) o.padding = tn::same;
        if (kind == 2) o.padding = tn::pad(draw(0, h), draw(0, h), draw(0, w), draw(0, w));
        check_pools<T>({draw(1, 3), h + draw(1, 8), w + draw(1, 8), draw(1, 9)}, o);
    }
}

} // namespace

TEST_CASE_TEMPLATE("pools and their gradients are the definitions on a GPU; the first of equal largest elements counts",
                   T, float, double, tn::half, tn::bfloat16) {
    check_all<T>(10);
}

TEST_CASE("a NaN is the largest of its window on a GPU, and has its gradient") {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, extents{1, 2, 4, 1});
    const any_tensor dy = tn::untyped::placeholder(tn::element_type::float32, extents{1, 1, 2, 1});
    std::vector<any_tensor> asked_for;
    tn::on("/gpu:0", [&] {
        const any_tensor y = tn::untyped::max_pool2d(x, {});
        asked_for = {y, tn::detail::add_gradients({y}, {x}, {dy})[0]};
        return 0;
    });
    const auto filled = [](const extents& sizes, std::initializer_list<float> values) {
        any_array a(tn::element_type::float32, sizes);
        std::copy(values.begin(), values.end(), a.data<float>());
        return a;
    };
    tn::session s(g);
    std::vector<tn::fed_value> feeds;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    feeds.push_back({x, filled({1, 2, 4, 1}, {1, nan, 2, 3, 5, 4, 3, 3})});
    feeds.push_back({dy, filled({1, 1, 2, 1}, {10, 20})});
    const auto found = s.run_untyped(std::move(feeds), asked_for);
    CHECK(std::isnan(found[0].data<float>()[0]));
    CHECK(found[0].data<float>()[1] == 3);
    const float wanted[] = {0, 10, 0, 20, 0, 0, 0, 0};
    for (int i = 0; i < 8; ++i) CHECK(found[1].data<float>()[i] == wanted[i]);
}
