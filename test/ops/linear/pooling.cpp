#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using tn::array, tn::any_array, tn::any_tensor, tn::shape, tn::extents, tn::pool2d_options;
using tn::test::check_gradients, tn::test::drawn, tn::test::input, tn::test::random_array;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

template <class T> double tolerance() {
    return std::is_same_v<T, double>     ? 1e-14
           : std::is_same_v<T, float>    ? 1e-6
           : std::is_same_v<T, tn::half> ? 1e-3
                                         : 8e-3;
}

// Both pools and their gradients, from their definitions.
template <class T> void check_pools(const extents& image, const pool2d_options& o) {
    CAPTURE(tn::to_string(image));
    const std::int64_t n = image[0].size, height = image[1].size, width = image[2].size, channels = image[3].size;
    const std::int64_t sh = o.stride.height ? o.stride.height : o.window.height,
                       sw = o.stride.width ? o.stride.width : o.window.width;
    const std::int64_t dh = o.dilation.height, dw = o.dilation.width;
    const std::int64_t high = (o.window.height - 1) * dh + 1, wide = (o.window.width - 1) * dw + 1;
    std::int64_t top = o.padding.top, left = o.padding.left;
    std::int64_t rows = (height + top + o.padding.bottom - high) / sh + 1;
    std::int64_t columns = (width + left + o.padding.right - wide) / sw + 1;
    if (o.padding.kind == tn::padding::rule::same) {
        rows = (height + sh - 1) / sh;
        columns = (width + sw - 1) / sw;
        top = std::max<std::int64_t>(0, (rows - 1) * sh + high - height) / 2;
        left = std::max<std::int64_t>(0, (columns - 1) * sw + wide - width) / 2;
    }
    const extents result{n, rows, columns, channels};
    const tn::graph_scope scope{tn::graph()};
    const any_tensor x = tn::untyped::placeholder(tn::element_type_of<T>, image);
    const any_tensor dy = tn::untyped::placeholder(tn::element_type_of<T>, result);
    const any_tensor largest = tn::untyped::max_pool2d(x, o), mean = tn::untyped::average_pool2d(x, o);
    REQUIRE(largest.extents() == result);
    REQUIRE(mean.extents() == result);
    const any_tensor dmax = tn::detail::add_gradients({largest}, {x}, {dy})[0];
    const any_tensor dmean = tn::detail::add_gradients({mean}, {x}, {dy})[0];
    const any_array ax = random_array<T>(image, 1), ady = random_array<T>(result, 2);
    tn::session s(tn::graph::current());
    const auto found = s.run_untyped(tn::test::fed(x, ax, dy, ady), {largest, mean, dmax, dmean});

    const auto at = [&](std::int64_t b, std::int64_t u, std::int64_t v, std::int64_t c) {
        return ((b * height + u) * width + v) * channels + c;
    };
    std::vector<double> ymax, ymean, gmax(static_cast<std::size_t>(ax.elements())), gmean(gmax);
    for (std::int64_t b = 0; b < n; ++b)
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j)
                for (std::int64_t c = 0; c < channels; ++c) {
                    std::vector<std::int64_t> inside;
                    for (std::int64_t p = 0; p < o.window.height; ++p)
                        for (std::int64_t q = 0; q < o.window.width; ++q) {
                            const std::int64_t u = i * sh + p * dh - top, v = j * sw + q * dw - left;
                            if (u >= 0 && v >= 0 && u < height && v < width) inside.push_back(at(b, u, v, c));
                        }
                    const auto value = [&](std::int64_t k) { return static_cast<double>(ax.data<T>()[k]); };
                    std::int64_t best = inside[0];
                    double sum = 0;
                    for (const std::int64_t k : inside) {
                        if (value(k) > value(best)) best = k;
                        sum += value(k);
                    }
                    const auto g = static_cast<double>(ady.data<T>()[((b * rows + i) * columns + j) * channels + c]);
                    const auto count = static_cast<double>(inside.size());
                    ymax.push_back(value(best));
                    ymean.push_back(sum / count);
                    gmax[static_cast<std::size_t>(best)] += g;
                    for (const std::int64_t k : inside) gmean[static_cast<std::size_t>(k)] += g / count;
                }
    const auto check = [&](const any_array& a, const std::vector<double>& wanted, double scale) {
        REQUIRE(a.elements() == static_cast<std::int64_t>(wanted.size()));
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const auto f = static_cast<double>(a.data<T>()[i]);
            INFO(i << ": " << f << " instead of " << wanted[i]);
            CHECK(std::fabs(f - wanted[i]) <= scale * tolerance<T>() * (std::fabs(wanted[i]) + 3));
        }
    };
    check(found[0], ymax, 0);
    check(found[1], ymean, 1);
    check(found[2], gmax, 1);
    check(found[3], gmean, 1);
}

} // namespace

TEST_CASE_TEMPLATE("pools and their gradients are the definitions: windows, strides, paddings", T, float, double,
                   tn::half, tn::bfloat16) {
    check_pools<T>({2, 6, 8, 3}, {});
    check_pools<T>({1, 7, 7, 2}, {.window = 2});
    check_pools<T>({1, 7, 7, 2}, {.window = 3, .stride = 2, .padding = tn::same});
    check_pools<T>({2, 5, 6, 17}, {.window = {2, 3}, .stride = 1});
    check_pools<T>({1, 5, 6, 32}, {.window = {3, 2}, .stride = {1, 2}, .padding = tn::pad(2, 1, 1, 0)});
    check_pools<T>({1, 4, 4, 5}, {.window = 1, .stride = 3});
    check_pools<T>({1, 3, 3, 1}, {.window = 3});
    check_pools<T>({2, 2, 3, 4}, {.window = 5, .stride = 2, .padding = tn::same});
    check_pools<T>({2, 7, 9, 3}, {.window = 3, .stride = 1, .dilation = {2, 3}});
    check_pools<T>({1, 9, 11, 17},
                   {.window = {2, 3}, .stride = {5, 7}, .padding = tn::pad(1, 2, 3, 1), .dilation = {4, 2}});
    check_pools<T>({2, 5, 3, 4}, {.window = 3, .stride = 2, .padding = tn::same, .dilation = 4});
}

TEST_CASE("of equal largest elements the first gets the gradient; a NaN is the largest") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<float, shape<1, 2, 4, 1>>("x");
    const auto y = tn::max_pool2d<2>(x);
    const auto [g] = tn::gradients(tn::sum(y), x);
    tn::session s(tn::graph::current());
    array<float> a(extents{1, 2, 4, 1});
    const float values[] = {1, 5, 2, 2, 5, 5, 2, 2};
    for (std::int64_t i = 0; i < 8; ++i) a.data()[i] = values[i];
    const auto d = s.run(tn::feed(x, a), g);
    const float wanted[] = {0, 1, 1, 0, 0, 0, 0, 0};
    for (std::int64_t i = 0; i < 8; ++i) CHECK(d[i] == wanted[i]);
    a.data()[4] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(s.run(tn::feed(x, a), y)[0]));
}

TEST_CASE("a window whose pixels are all around the image has no largest element and no mean") {
    const tn::graph_scope scope{tn::graph()};
    constexpr pool2d_options apart{.window = {1, 2}, .stride = 1, .padding = tn::pad(0, 1), .dilation = 3};
    const auto x = tn::placeholder<float, shape<1, 1, 2, 1>>("x");
    const auto y = tn::max_pool2d<apart>(x);
    const auto z = tn::average_pool2d<tn::pool2d_options{
        .window = {1, 2}, .stride = 1, .padding = tn::pad(0, 0, 2, 2), .dilation = 3}>(x);
    const auto [dy, dz] =
        std::tuple(std::get<0>(tn::gradients(tn::sum(y), x)), std::get<0>(tn::gradients(tn::sum(z), x)));
    tn::session s(tn::graph::current());
    array<float> a(extents{1, 1, 2, 1});
    a.data()[0] = 3;
    a.data()[1] = 4;
    const auto [largest, mean, gl, gm] = s.run(tn::feed(x, a), y, z, dy, dz);
    REQUIRE(largest.extents() == extents{1, 1, 1, 1});
    CHECK(std::isinf(largest[0]));
    REQUIRE(mean.extents() == extents{1, 1, 3, 1});
    CHECK(mean[0] == 4);
    CHECK(std::isnan(mean[1]));
    CHECK(mean[2] == 3);
    CHECK(gl[0] == 0);
    CHECK(gm[0] == 1);
    CHECK(gm[1] == 1);
}

TEST_CASE("sizes of the step: no image, or images of any size") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<float, shape<batch, tn::dyn, tn::dyn, 3>>("x");
    const auto y = tn::max_pool2d<3, 2, tn::same>(x);
    const auto z = tn::global_average_pool(x);
    const auto [g] = tn::gradients(tn::sum(y), x);
    static_assert(std::is_same_v<decltype(z), const tn::tensor<float, shape<batch, 3>>>);
    tn::session s(tn::graph::current());
    const auto [a, b, c] = s.run(tn::feed(x, array<float>::full({2, 5, 8, 3}, 4.0F)), y, z, g);
    CHECK(a.extents() == extents{2, 3, 4, 3});
    CHECK(b.extents() == extents{2, 3});
    CHECK(b(1, 2) == 4);
    CHECK(c.extents() == extents{2, 5, 8, 3});
    const auto [d, e] = s.run(tn::feed(x, array<float>(extents{0, 5, 8, 3})), y, g);
    CHECK(d.extents() == extents{0, 3, 4, 3});
    CHECK(e.extents() == extents{0, 5, 8, 3});
}

TEST_CASE("gradients of a global average, and of an image that is repeated, agree with central differences") {
    CHECK(check_gradients([](auto x) { return tn::global_average_pool(x); },
                          input<shape<tn::dyn, tn::dyn, tn::dyn, 2>>(2, 4, 3, 2)) == "");
    CHECK(check_gradients(
              [](auto x) {
                  const auto y = tn::max_pool2d<2>(tn::broadcast_to<shape<3, 4, 4, 1>>(x));
                  const auto [g] = tn::gradients(tn::sum(y * y), x);
                  return g * g;
              },
              drawn(input<shape<1, 4, 4, 1>>(), tn::test::values::distinct)) == "");
}

TEST_CASE_TEMPLATE("max_pool2d_pick takes what lies where the first largest element does", T, float, double, tn::half,
                   tn::bfloat16) {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<T, shape<1, 2, 4, 1>>("x"), h = tn::placeholder<T, shape<1, 2, 4, 1>>("h");
    const auto y = tn::max_pool2d<2>(x);
    const any_tensor picked =
        tn::add<tn::max_pool2d_pick_op>(tn::detail::attributes_of(pool2d_options{}, false), {x, y, h});
    tn::session s(tn::graph::current());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    array<T> a(extents{1, 2, 4, 1}), b(extents{1, 2, 4, 1});
    const float values[] = {1, 5, 2, nan, 5, 5, 3, 4};
    for (std::int64_t i = 0; i < 8; ++i) {
        a[i] = static_cast<T>(values[i]);
        b[i] = static_cast<T>(static_cast<float>(i) + 10);
    }
    const any_array found = s.run(tn::feed(x, a), tn::feed(h, b), picked);
    CHECK(static_cast<float>(found.data<T>()[0]) == 11);
    CHECK(static_cast<float>(found.data<T>()[1]) == 13);
}

TEST_CASE("windows that do not fit are refused with the rule's words") {
    const tn::graph_scope scope{tn::graph()};
    const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {1, 4, 6, 3});
    const auto refused = [](const any_tensor& t, const pool2d_options& o) {
        return message_of<tn::invalid_argument_error>([&] { tn::untyped::max_pool2d(t, o); });
    };
    CHECK(contains(refused(x, {.window = 5}), "window is larger than the padded input: [1, 4, 6, 3]"));
    CHECK(contains(refused(x, {.window = 0}), "out of range"));
    CHECK(contains(refused(x, {.window = 2, .padding = tn::pad(2)}), "out of range"));
    CHECK(contains(refused(tn::untyped::placeholder(tn::element_type::float32, {4, 6, 3}), {}), "rank must be 4"));
    CHECK(contains(refused(tn::untyped::placeholder(tn::element_type::int32, {1, 4, 6, 3}), {}), "must be float"));
}
