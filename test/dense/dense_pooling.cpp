#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/dense/pooling/pooling.hpp>

#include "messages.hpp"
#include "dense_support.hpp"
#include "reference/windows.hpp"

using namespace tenon;
using namespace tenon::dense;

namespace {

reference::windows windows_of(const pooling_description& d) {
    return {d.batch,
            {d.height, d.window_h, d.stride_h, 1, d.pad_top, d.out_height()},
            {d.width, d.window_w, d.stride_w, 1, d.pad_left, d.out_width()}};
}

template <class T> void check_pooling(pooling_description d) {
    d.element = element_type_of<T>;
    check(d);
    INFO(said_by(d));
    const std::int64_t nx = d.batch * d.height * d.width * d.channels;
    const std::int64_t ny = d.batch * d.out_height() * d.out_width() * d.channels;
    auto x = random_numbers<T>(nx, 1);
    // Few different values, so that windows hold ties.
    for (auto& value : x) value = std::round(value * T(3));
    const auto dy = random_numbers<T>(ny, 2), h = random_numbers<T>(nx, 3);

    std::vector<double> y(static_cast<std::size_t>(ny));
    std::vector<double> dx(static_cast<std::size_t>(nx), 0.0), picked(y);
    windows_of(d).each_pool(d.channels, [&](std::size_t out, const std::vector<std::size_t>& inside) {
        REQUIRE(!inside.empty());
        const auto share = static_cast<double>(dy[out]);
        if (d.kind == pooling_kind::maximum) {
            std::size_t first = inside.front();
            for (const auto at : inside) {
                if (x[at] > x[first]) first = at;
            }
            y[out] = static_cast<double>(x[first]);
            dx[first] += share;
            picked[out] = static_cast<double>(h[first]);
        } else {
            double sum = 0.0;
            for (const auto at : inside) sum += static_cast<double>(x[at]);
            y[out] = sum / static_cast<double>(inside.size());
            for (const auto at : inside) dx[at] += share / static_cast<double>(inside.size());
        }
    });

    thread_pool pool(3);
    for (thread_pool* p : {static_cast<thread_pool*>(nullptr), &pool}) {
        std::vector<T> found_y(static_cast<std::size_t>(ny), T(77));
        std::vector<T> found_dx(static_cast<std::size_t>(nx), T(77));
        pooling(d, x.data(), found_y.data(), p);
        CHECK(worst_error(found_y, y) <= 16 * allowed<T>());
        pooling_backward(d, x.data(), found_y.data(), dy.data(), found_dx.data(), p);
        CHECK(worst_error(found_dx, dx) <= 16 * allowed<T>());
        if (d.kind != pooling_kind::maximum) continue;
        std::vector<T> found(static_cast<std::size_t>(ny), T(77));
        pooling_pick(d, x.data(), found_y.data(), h.data(), found.data(), p);
        CHECK(worst_error(found, picked) == 0);
    }
}

pooling_description windows(pooling_kind kind, std::int64_t height, std::int64_t width, std::int64_t channels,
                            std::int64_t window, std::int64_t stride) {
    pooling_description d{.kind = kind, .batch = 3, .height = height, .width = width, .channels = channels};
    d.window_h = d.window_w = window;
    d.stride_h = d.stride_w = stride;
    return d;
}

} // namespace

TEST_CASE_TEMPLATE("pooling, its gradient and what is picked equal the naive ones, ties going to the first", T, float,
                   double) {
    for_each_isa([](simd::isa isa) {
        CAPTURE(simd::name_of(isa));
        for (const auto kind : {pooling_kind::maximum, pooling_kind::average}) {
            for (const std::int64_t channels : {1, 3, 8, 16, 37}) {
                for (const std::int64_t window : {1, 2, 3}) {
                    for (const std::int64_t stride : {1, 2, 3}) {
                        auto d = windows(kind, 8, 7, channels, window, stride);
                        check_pooling<T>(d);
                        if (window == 1) continue;
                        d.pad_top = 1;
                        d.pad_left = window - 1;
                        d.pad_bottom = window - 1;
                        check_pooling<T>(d);
                    }
                }
            }
        }
    });
}

TEST_CASE_TEMPLATE("pooling in windows that are not square, and over the whole image", T, float, double) {
    for (const auto kind : {pooling_kind::maximum, pooling_kind::average}) {
        auto d = windows(kind, 9, 6, 20, 2, 2);
        d.window_h = 4;
        d.stride_w = 3;
        check_pooling<T>(d);
        auto whole = windows(kind, 5, 7, 33, 5, 1);
        whole.window_w = 7;
        check_pooling<T>(whole);
        auto even = windows(kind, 28, 28, 32, 2, 2); // enough for several threads
        check_pooling<T>(even);
        even.batch = 0;
        check_pooling<T>(even);
    }
}

TEST_CASE_TEMPLATE("a NaN is the largest of its window and takes the gradient; -inf alone is the largest", T, float,
                   double) {
    auto d = windows(pooling_kind::maximum, 2, 4, 1, 2, 2);
    d.batch = 1;
    d.element = element_type_of<T>;
    const T low = -std::numeric_limits<T>::infinity();
    const std::vector<T> x{T(1), T(NAN), low, low, T(5), T(NAN), low, low};
    const std::vector<T> dy{T(2), T(3)};
    std::vector<T> y(2);
    std::vector<T> dx(8, T(77));
    pooling(d, x.data(), y.data(), nullptr);
    CHECK(std::isnan(y[0]));
    CHECK(y[1] == low);
    pooling_backward(d, x.data(), y.data(), dy.data(), dx.data(), nullptr);
    CHECK(dx == std::vector<T>{T(0), T(2), T(3), T(0), T(0), T(0), T(0), T(0)});
}

TEST_CASE("pooling refuses windows that can miss the image, in words that name the sizes") {
    auto d = windows(pooling_kind::average, 4, 4, 3, 2, 2);
    d.pad_left = 2;
    CHECK_ERROR(invalid_argument_error, "padding", check(d));
    d = windows(pooling_kind::average, 4, 4, 3, 2, 2);
    d.pad_bottom = 2;
    CHECK_ERROR(invalid_argument_error, "padding", check(d));
    d = windows(pooling_kind::average, 4, 4, 3, 5, 2);
    CHECK_ERROR(invalid_argument_error, "[3, 4, 4, 3] in windows [5, 5]", check(d));
    d = windows(pooling_kind::average, 4, 4, 3, 2, 0);
    CHECK_THROWS_AS(check(d), invalid_argument_error);
    d = windows(pooling_kind::average, 4, 4, 3, 2, 2);
    d.element = element_type::int32;
    CHECK_THROWS_AS(check(d), invalid_argument_error);
}
