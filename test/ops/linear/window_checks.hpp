#pragma once

#include "tests.hpp"
#include "ops/random/random_arrays.hpp"
#include "ops/untyped_run.hpp"
#include "reference/windows.hpp"

/// Convolutions and pools on a device, with their gradients, against their formulas in double.

namespace tenon::test {

/// Windows of options that have a stride and a padding, of images [n, height, width, channels].
template <class Options>
reference::windows windows_of(const extents& image, std::int64_t height, std::int64_t width, const Options& o,
                              std::int64_t row_dilation = 1, std::int64_t column_dilation = 1) {
    const auto along = [&](std::int64_t n, std::int64_t size, std::int64_t stride, std::int64_t dilation,
                           std::int64_t before, std::int64_t after) {
        const std::int64_t reach = dilation * (size - 1) + 1;
        if (o.padding.kind != padding::rule::same)
            return reference::along{n, size, stride, dilation, before, (n + before + after - reach) / stride + 1};
        const std::int64_t out = (n + stride - 1) / stride;
        return reference::along{
            n, size, stride, dilation, std::max<std::int64_t>(0, (out - 1) * stride + reach - n) / 2, out};
    };
    const std::int64_t down = o.stride.height ? o.stride.height : height,
                       right = o.stride.width ? o.stride.width : width;
    return {image[0].size, along(image[1].size, height, down, row_dilation, o.padding.top, o.padding.bottom),
            along(image[2].size, width, right, column_dilation, o.padding.left, o.padding.right)};
}

template <class T> std::vector<double> in_double(const any_array& a) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < a.elements(); ++i) v.push_back(element<T>(a, i));
    return v;
}

template <class T>
constexpr double rounding_of = std::is_same_v<T, double>  ? 1e-13
                               : std::is_same_v<T, float> ? 2e-6
                               : std::is_same_v<T, half>  ? 1e-3
                                                          : 8e-3;

template <class T>
void check_near(const char* what, const any_array& found, const std::vector<double>& wanted, double beside) {
    REQUIRE(found.elements() == static_cast<std::int64_t>(wanted.size()));
    for (std::int64_t i = 0; i < found.elements(); ++i) {
        const double f = element<T>(found, i), w = wanted[static_cast<std::size_t>(i)];
        INFO(what << " " << i << ": " << f << " instead of " << w);
        REQUIRE(std::fabs(f - w) <= rounding_of<T> * std::fabs(w) + beside);
    }
}
/// Of so many products of numbers up to 3; those of 16 bits are added up in float.
template <class T>
void check_sums(const char* what, const any_array& found, const std::vector<double>& wanted, std::int64_t terms) {
    check_near<T>(what, found, wanted,
                  (sizeof(T) == 8 ? 1e-13 : 1e-6) * 9 * (1 + std::sqrt(static_cast<double>(terms))));
}

/// conv2d, conv2d with bias and relu, and the gradients of all three operands.
template <class T>
void check_convolution(const char* device, const extents& image, const extents& window, const conv2d_options& o = {}) {
    const reference::windows of =
        windows_of(image, window[0].size, window[1].size, o, o.dilation.height, o.dilation.width);
    const reference::convolution ref{of, window[2].size, window[3].size, o.groups};
    const extents result{image[0].size, of.rows.out, of.columns.out, window[3].size};
    INFO(to_string(image), " by ", to_string(window), " to ", to_string(result), ", ", name_of(element_type_of<T>),
         ", groups ", o.groups);
    const graph_scope scope{graph()};
    const any_tensor x = untyped::placeholder(element_type_of<T>, image);
    const any_tensor w = untyped::placeholder(element_type_of<T>, window);
    const any_tensor b = untyped::placeholder(element_type_of<T>, extents{window[3].size});
    const any_tensor dy = untyped::placeholder(element_type_of<T>, result);
    std::vector<any_tensor> asked;
    {
        const device_scope there{device_name(std::string(device))};
        const any_tensor y = untyped::conv2d(x, w, o), shifted = untyped::conv2d_bias(x, w, b, false, o);
        REQUIRE(y.extents() == result);
        asked = {y, shifted, untyped::conv2d_bias(x, w, b, true, o)};
        for (const any_tensor& d : tenon::detail::add_gradients({y}, {x, w}, {dy})) asked.push_back(d);
        for (const any_tensor& d : tenon::detail::add_gradients({shifted}, {x, w, b}, {dy})) asked.push_back(d);
    }
    const any_array ax = random_array<T>(image, 1), aw = random_array<T>(window, 2),
                    ab = random_array<T>(extents{window[3].size}, 3), ady = random_array<T>(result, 4);
    session s(graph::current());
    const auto got = s.run_untyped(fed(x, ax, w, aw, b, ab, dy, ady), asked);

    const auto vx = in_double<T>(ax), vw = in_double<T>(aw), vb = in_double<T>(ab), vdy = in_double<T>(ady);
    std::vector<double> wy(vdy.size()), wdx(vx.size()), wdw(vw.size()), wdb(vb.size()), shifted, clipped;
    ref.products([&](std::size_t i, std::size_t k, std::size_t r) {
        wy[r] += vx[i] * vw[k];
        wdx[i] += vdy[r] * vw[k];
        wdw[k] += vdy[r] * vx[i];
    });
    for (std::size_t i = 0; i < vdy.size(); ++i) {
        shifted.push_back(wy[i] + vb[i % vb.size()]);
        clipped.push_back(std::max(0.0, shifted[i]));
        wdb[i % vb.size()] += vdy[i];
    }
    const std::int64_t area = window[0].size * window[1].size, of_y = area * window[2].size + 1,
                       of_x = area * window[3].size, of_w = image[0].size * of.rows.out * of.columns.out;
    check_sums<T>("y", got[0], wy, of_y);
    check_sums<T>("y + bias", got[1], shifted, of_y);
    check_sums<T>("relu(y + bias)", got[2], clipped, of_y);
    check_sums<T>("dx", got[3], wdx, of_x);
    check_sums<T>("dw", got[4], wdw, of_w);
    check_sums<T>("dx of y + bias", got[5], wdx, of_x);
    check_sums<T>("dw of y + bias", got[6], wdw, of_w);
    check_sums<T>("dbias", got[7], wdb, of_w);
}

/// A transposed convolution does what the convolution does to gradients.
inline void check_transposed_convolution(const char* device) {
    const conv2d_options o{.stride = 2, .padding = same};
    const extents small{2, 3, 4, 5}, window{3, 3, 2, 5}, large{2, 6, 8, 2};
    const graph_scope scope{graph()};
    const any_tensor x = untyped::placeholder(element_type::float32, small);
    const any_tensor w = untyped::placeholder(element_type::float32, window);
    const any_tensor y = on(device_name(std::string(device)), [&] { return untyped::conv2d_transpose(x, w, o); });
    REQUIRE(y.extents() == large);
    const any_array ax = random_array<float>(small, 1), aw = random_array<float>(window, 2);
    session s(graph::current());
    const auto got = s.run_untyped(fed(x, ax, w, aw), {y});
    std::vector<double> wanted(static_cast<std::size_t>(large.elements()));
    reference::convolution{windows_of(large, 3, 3, o), 2, 5}.products([&](std::size_t i, std::size_t k, std::size_t r) {
        wanted[i] +=
            element<float>(ax, static_cast<std::int64_t>(r)) * element<float>(aw, static_cast<std::int64_t>(k));
    });
    check_sums<float>("y", got[0], wanted, 45);
}

/// Both pools, their gradients, and what is picked where the first largest element lies.
template <class T> void check_pools(const char* device, const extents& image, const pool2d_options& o) {
    const std::int64_t channels = image[3].size;
    const reference::windows of =
        windows_of(image, o.window.height, o.window.width, o, o.dilation.height, o.dilation.width);
    const extents result{image[0].size, of.rows.out, of.columns.out, channels};
    INFO(to_string(image), " to ", to_string(result));
    const graph_scope scope{graph()};
    const any_tensor x = untyped::placeholder(element_type_of<T>, image), h = untyped::placeholder(x.element(), image);
    const any_tensor dy = untyped::placeholder(element_type_of<T>, result);
    std::vector<any_tensor> asked;
    {
        const device_scope there{device_name(std::string(device))};
        const any_tensor largest = untyped::max_pool2d(x, o), mean = untyped::average_pool2d(x, o);
        REQUIRE(largest.extents() == result);
        REQUIRE(mean.extents() == result);
        asked = {largest, mean, tenon::detail::add_gradients({largest}, {x}, {dy})[0],
                 tenon::detail::add_gradients({mean}, {x}, {dy})[0],
                 add<max_pool2d_pick_op>(tenon::detail::attributes_of(o, false), {x, largest, h})};
    }
    // Few values, so that many windows have equal largest elements.
    any_array ax = random_array<T>(image, 1);
    for (std::int64_t i = 0; i < ax.elements(); ++i)
        ax.data<T>()[i] = static_cast<T>(static_cast<float>(std::floor(element<T>(ax, i))));
    const any_array ady = random_array<T>(result, 2), ah = random_array<T>(image, 3);
    session s(graph::current());
    const auto got = s.run_untyped(fed(x, ax, dy, ady, h, ah), asked);
    const auto vx = in_double<T>(ax), vdy = in_double<T>(ady), vh = in_double<T>(ah);
    std::vector<double> ymax, ymean, picked, gmax(vx.size()), gmean(vx.size());
    of.each_pool(channels, [&](std::size_t r, const std::vector<std::size_t>& inside) {
        std::size_t best = inside.at(0);
        double sum = 0;
        const auto count = static_cast<double>(inside.size());
        for (const std::size_t k : inside) {
            if (vx[k] > vx[best]) best = k;
            sum += vx[k];
            gmean[k] += vdy[r] / count;
        }
        ymax.push_back(vx[best]);
        ymean.push_back(sum / count);
        picked.push_back(vh[best]);
        gmax[best] += vdy[r];
    });
    CHECK(in_double<T>(got[0]) == ymax);
    check_near<T>("mean", got[1], ymean, 3 * rounding_of<T>);
    check_near<T>("gradient of the largest", got[2], gmax, 3 * rounding_of<T>);
    check_near<T>("gradient of the mean", got[3], gmean, 3 * rounding_of<T>);
    CHECK(in_double<T>(got[4]) == picked);
}

/// A NaN is the largest of its window: it has the gradient, and what lies there is picked.
inline void check_pool_of_nan(const char* device) {
    const graph_scope scope{graph()};
    const auto of = [](const extents& sizes) { return untyped::placeholder(element_type::float32, sizes); };
    const any_tensor x = of({1, 2, 4, 1}), h = of({1, 2, 4, 1}), dy = of({1, 1, 2, 1});
    const device_scope there{device_name(std::string(device))};
    const any_tensor y = untyped::max_pool2d(x, {});
    const any_tensor dx = tenon::detail::add_gradients({y}, {x}, {dy})[0],
                     picked = add<max_pool2d_pick_op>(tenon::detail::attributes_of(pool2d_options{}, false), {x, y, h});
    const auto filled = [](const extents& sizes, const std::vector<float>& values) {
        return tn::test::array_of(sizes, values);
    };
    session s(graph::current());
    const any_array values = filled(x.extents(), {1, std::nanf(""), 2, 3, 5, 4, 3, 3}),
                    beside = filled(x.extents(), {10, 11, 12, 13, 14, 15, 16, 17}),
                    flowing = filled(dy.extents(), {10, 20});
    const auto got = s.run_untyped(fed(x, values, h, beside, dy, flowing), {y, dx, picked});
    CHECK(std::isnan(got[0].data<float>()[0]));
    CHECK(got[0].data<float>()[1] == 3);
    CHECK(in_double<float>(got[1]) == std::vector<double>{0, 10, 0, 20, 0, 0, 0, 0});
    CHECK(in_double<float>(got[2]) == std::vector<double>{11, 13});
}

} // namespace tenon::test
