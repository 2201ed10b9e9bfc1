#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <tenon/ops/gradients.hpp>
#include "../gpu_run.hpp"
#include "ops/random/random_arrays.hpp"
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

// Convolutions on a GPU against the formula in double, by cuDNN where there is one, and by the library's own kernels.

namespace tn = tenon;
using tn::any_array, tn::any_tensor, tn::extents, tn::conv2d_options;
using tn::test::random_array;

namespace {

// While it lives, cuDNN is not asked.
struct own_kernels {
    own_kernels() { setenv("TENON_CUDA_CONVOLUTIONS", "own", 1); }
    ~own_kernels() { unsetenv("TENON_CUDA_CONVOLUTIONS"); }
};

// The formula. `top` and `left` are what the padding rule puts above and to the left.
struct naive {
    extents x, w;
    conv2d_options o;
    std::int64_t top = 0, left = 0, rows = 0, columns = 0;

    naive(const extents& image, const extents& window, const conv2d_options& options) :
        x(image), w(window), o(options) {
        axis(x[1].size, w[0].size, o.stride.height, o.dilation.height, o.padding.top, o.padding.bottom, top, rows);
        axis(x[2].size, w[1].size, o.stride.width, o.dilation.width, o.padding.left, o.padding.right, left, columns);
    }
    void axis(std::int64_t n, std::int64_t size, std::int64_t stride, std::int64_t dilation, std::int64_t before,
              std::int64_t after, std::int64_t& first, std::int64_t& count) const {
        const std::int64_t reach = dilation * (size - 1) + 1;
        if (o.padding.kind == tn::padding::rule::same) {
            count = (n + stride - 1) / stride;
            first = std::max<std::int64_t>(0, (count - 1) * stride + reach - n) / 2;
        } else {
            first = before;
            count = (n + before + after - reach) / stride + 1;
        }
    }
    extents y() const { return {x[0].size, rows, columns, w[3].size}; }

    // f(place in x, in w, in y) for each product of the sum.
    template <class F> void products(F f) const {
        const std::int64_t seen = w[2].size, outputs = w[3].size, per_group = outputs / o.groups;
        for (std::int64_t b = 0; b < x[0].size; ++b)
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t j = 0; j < columns; ++j)
                    for (std::int64_t k = 0; k < outputs; ++k)
                        for (std::int64_t p = 0; p < w[0].size; ++p)
                            for (std::int64_t q = 0; q < w[1].size; ++q) {
                                const std::int64_t u = i * o.stride.height + p * o.dilation.height - top;
                                const std::int64_t v = j * o.stride.width + q * o.dilation.width - left;
                                if (u < 0 || v < 0 || u >= x[1].size || v >= x[2].size) continue;
                                for (std::int64_t c = 0; c < seen; ++c)
                                    f(static_cast<std::size_t>(((b * x[1].size + u) * x[2].size + v) * x[3].size +
                                                               k / per_group * seen + c),
                                      static_cast<std::size_t>(((p * w[1].size + q) * seen + c) * outputs + k),
                                      static_cast<std::size_t>(((b * rows + i) * columns + j) * outputs + k));
                            }
    }
};

template <class T> std::vector<double> numbers(const any_array& a) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < a.elements(); ++i) v.push_back(static_cast<double>(a.data<T>()[i]));
    return v;
}

// Rounding of `terms` products of numbers up to 3, and of the result.
template <class T>
void check_close(const char* what, const any_array& found, const std::vector<double>& wanted, std::int64_t terms) {
    const double one = std::is_same_v<T, double>     ? 1e-14
                       : std::is_same_v<T, float>    ? 2e-6
                       : std::is_same_v<T, tn::half> ? 1e-3
                                                     : 8e-3;
    const double exact = std::is_same_v<T, double> ? 1e-14 : 1e-6; // of the sums, which are not in 16 bits
    REQUIRE(found.elements() == static_cast<std::int64_t>(wanted.size()));
    const std::vector<double> f = numbers<T>(found);
    for (std::size_t i = 0; i < f.size(); ++i) {
        INFO(what << " " << i << ": " << f[i] << " instead of " << wanted[i]);
        REQUIRE(std::fabs(f[i] - wanted[i]) <=
                one * std::fabs(wanted[i]) + exact * 9 * (1 + std::sqrt(static_cast<double>(terms))) + 1e-7);
    }
}

// conv2d, conv2d with bias and relu, the gradients of all three operands, and the transposed convolution.
template <class T> void check_convolution(const extents& image, const extents& window, const conv2d_options& o) {
    const naive ref(image, window, o);
    CAPTURE(tn::to_string(image));
    CAPTURE(tn::to_string(window));
    CAPTURE(tn::to_string(ref.y()));
    CAPTURE(tn::name_of(tn::element_type_of<T>));
    CAPTURE(o.groups);
    const tn::graph g;
    const tn::graph_scope scope(g);
    const any_tensor x = tn::untyped::placeholder(tn::element_type_of<T>, image);
    const any_tensor w = tn::untyped::placeholder(tn::element_type_of<T>, window);
    const any_tensor b = tn::untyped::placeholder(tn::element_type_of<T>, extents{window[3].size});
    const any_tensor dy = tn::untyped::placeholder(tn::element_type_of<T>, ref.y());
    std::vector<any_tensor> asked;
    tn::on("/gpu:0", [&] {
        const any_tensor y = tn::untyped::conv2d(x, w, o);
        REQUIRE(y.extents() == ref.y());
        const any_tensor shifted = tn::untyped::conv2d_bias(x, w, b, false, o);
        asked = {y, shifted, tn::untyped::conv2d_bias(x, w, b, true, o)};
        for (const any_tensor& d : tn::detail::add_gradients({y}, {x, w}, {dy})) asked.push_back(d);
        for (const any_tensor& d : tn::detail::add_gradients({shifted}, {x, w, b}, {dy})) asked.push_back(d);
        return 0;
    });
    const any_array ax = random_array<T>(image, 1), aw = random_array<T>(window, 2),
                    ab = random_array<T>(extents{window[3].size}, 3), ady = random_array<T>(ref.y(), 4);
    tn::session s(g);
    std::vector<tn::fed_value> feeds;
    feeds.push_back({x, ax.share()});
    feeds.push_back({w, aw.share()});
    feeds.push_back({b, ab.share()});
    feeds.push_back({dy, ady.share()});
    const auto results = s.run_untyped(std::move(feeds), asked);

    const auto vx = numbers<T>(ax), vw = numbers<T>(aw), vb = numbers<T>(ab), vdy = numbers<T>(ady);
    std::vector<double> wy(vdy.size()), wdx(vx.size()), wdw(vw.size()), wdb(vb.size()), shifted(vdy.size()),
        clipped(vdy.size());
    ref.products([&](std::size_t i, std::size_t k, std::size_t r) {
        wy[r] += vx[i] * vw[k];
        wdx[i] += vdy[r] * vw[k];
        wdw[k] += vdy[r] * vx[i];
    });
    for (std::size_t i = 0; i < vdy.size(); ++i) {
        shifted[i] = wy[i] + vb[i % vb.size()];
        clipped[i] = std::max(0.0, shifted[i]);
        wdb[i % vb.size()] += vdy[i];
    }
    const std::int64_t of_y = window[0].size * window[1].size * window[2].size + 1;
    const std::int64_t of_x = window[0].size * window[1].size * window[3].size,
                       of_w = image[0].size * ref.rows * ref.columns;
    check_close<T>("y", results[0], wy, of_y);
    check_close<T>("y + bias", results[1], shifted, of_y);
    check_close<T>("relu(y + bias)", results[2], clipped, of_y);
    check_close<T>("dx", results[3], wdx, of_x);
    check_close<T>("dw", results[4], wdw, of_w);
    check_close<T>("dx of y + bias", results[5], wdx, of_x);
    check_close<T>("dw of y + bias", results[6], wdw, of_w);
    check_close<T>("dbias", results[7], wdb, of_w);
}

template <class T> void check_chosen() {
    check_convolution<T>({2, 7, 6, 3}, {3, 3, 3, 4}, {});
    check_convolution<T>({1, 8, 9, 2}, {3, 3, 2, 4}, {.stride = 2, .padding = tn::same});
    check_convolution<T>({2, 6, 6, 2}, {3, 3, 2, 3}, {.stride = {2, 1}, .padding = tn::pad(2, 1, 0, 3)});
    check_convolution<T>({1, 9, 8, 1}, {2, 3, 1, 2}, {.stride = 2, .padding = tn::pad(1), .dilation = {3, 2}});
    check_convolution<T>({2, 5, 5, 6}, {3, 3, 2, 9}, {.padding = tn::same, .groups = 3});
    check_convolution<T>({2, 5, 4, 6}, {3, 2, 1, 6}, {.padding = tn::same, .groups = 6});
    check_convolution<T>({1, 4, 4, 6}, {2, 2, 3, 40}, {.groups = 2});
    check_convolution<T>({2, 6, 5, 20}, {3, 3, 20, 70}, {.padding = tn::same});
    check_convolution<T>({1, 1, 1, 2}, {3, 3, 2, 2}, {.padding = tn::same});
}

// Sizes, strides, paddings, dilations and groups drawn from a seed.
template <class T> void check_drawn(std::uint64_t seed, int count) {
    std::mt19937_64 random(seed);
    const auto draw = [&](int from, int to) {
        return static_cast<int>(from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1)));
    };
    for (int n = 0; n < count; ++n) {
        conv2d_options o;
        o.stride = {draw(1, 3), draw(1, 3)};
        o.dilation = {draw(1, 2), draw(1, 2)};
        o.groups = draw(0, 2) == 0 ? draw(2, 4) : 1;
        const int rows = draw(1, 4), columns = draw(1, 4);
        const int kind = draw(0, 2);
        if (kind == 1) o.padding = tn::same;
        if (kind == 2) o.padding = tn::pad(draw(0, 3), draw(0, 3), draw(0, 3), draw(0, 3));
        const int seen = draw(1, 5), outputs = draw(1, 5) * o.groups;
        const extents image{draw(1, 3), o.dilation.height * (rows - 1) + draw(1, 8),
                            o.dilation.width * (columns - 1) + draw(1, 8), seen * o.groups};
        check_convolution<T>(image, {rows, columns, seen, outputs}, o);
    }
}

} // namespace

TEST_CASE_TEMPLATE("conv2d, its bias and relu, and its gradients are the formula on a GPU", T, float, double, tn::half,
                   tn::bfloat16) {
    check_chosen<T>();
    const std::uint64_t seed = tn::test::drawn_seed();
    CAPTURE(seed);
    check_drawn<T>(seed, 6);
}

TEST_CASE_TEMPLATE("the same by the library's own kernels", T, float, double, tn::half, tn::bfloat16) {
    const own_kernels forced;
    check_chosen<T>();
    const std::uint64_t seed = tn::test::drawn_seed();
    CAPTURE(seed);
    check_drawn<T>(seed, 6);
}

TEST_CASE("a filter's gradient over many pixels is added in parts") {
    const own_kernels forced;
    check_convolution<float>({3, 21, 23, 2}, {2, 2, 2, 3}, {});
    check_convolution<float>({3, 21, 23, 4}, {2, 2, 1, 4}, {.groups = 4});
    check_convolution<double>({3, 21, 23, 2}, {2, 2, 2, 3}, {});
}

TEST_CASE("a filter's gradient of float is right for few and many channels, whether or not four lie side by side") {
    check_convolution<float>({2, 17, 19, 1}, {5, 5, 1, 32}, {.padding = tn::same});
    check_convolution<float>({1, 9, 9, 8}, {2, 2, 8, 36}, {.stride = 2, .padding = tn::same});
    check_convolution<float>({1, 7, 9, 6}, {3, 3, 6, 68}, {.padding = tn::same});
    check_convolution<float>({1, 6, 7, 36}, {2, 2, 36, 132}, {});
    check_convolution<float>({1, 6, 7, 40}, {3, 2, 20, 36}, {.dilation = 2, .groups = 2});
    check_convolution<float>({1, 18, 17, 33}, {2, 2, 33, 35}, {.padding = tn::pad(1, 0, 0, 2)});
}

TEST_CASE("an image's gradient of float is right where a block brings 16 outputs of each pixel at a time") {
    const own_kernels forced;
    check_convolution<float>({2, 13, 17, 1}, {5, 5, 1, 16}, {.padding = tn::same});
    check_convolution<float>({1, 9, 9, 33}, {2, 3, 33, 32}, {.padding = tn::pad(3, 0, 1, 4)});
    check_convolution<float>({1, 11, 13, 36}, {3, 3, 36, 48}, {.dilation = {2, 3}});
    check_convolution<float>({2, 10, 7, 40}, {3, 2, 20, 32}, {.padding = tn::same, .groups = 2});
    check_convolution<float>({1, 6, 7, 70}, {1, 1, 70, 16}, {});
}

TEST_CASE("the gradient of large images of float is right") {
    check_convolution<float>({17, 64, 63, 16}, {1, 1, 16, 16}, {.padding = tn::pad(1, 1, 0, 0)});
}

TEST_CASE("a transposed convolution does what the convolution does to gradients") {
    for (const bool own : {false, true}) {
        CAPTURE(own);
        std::optional<own_kernels> forced;
        if (own) forced.emplace();
        const conv2d_options o{.stride = 2, .padding = tn::same};
        const extents small{2, 3, 4, 5}, window{3, 3, 2, 5}, large{2, 6, 8, 2};
        const naive ref(large, window, o);
        REQUIRE(ref.y() == small);
        const tn::graph g;
        const tn::graph_scope scope(g);
        const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, small);
        const any_tensor w = tn::untyped::placeholder(tn::element_type::float32, window);
        const any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::conv2d_transpose(x, w, o); });
        REQUIRE(y.extents() == large);
        const any_array ax = random_array<float>(small, 1), aw = random_array<float>(window, 2);
        tn::session s(g);
        std::vector<tn::fed_value> feeds;
        feeds.push_back({x, ax.share()});
        feeds.push_back({w, aw.share()});
        const auto results = s.run_untyped(std::move(feeds), {y});
        const auto vx = numbers<float>(ax), vw = numbers<float>(aw);
        std::vector<double> wanted(static_cast<std::size_t>(large.elements()));
        ref.products([&](std::size_t i, std::size_t k, std::size_t r) { wanted[i] += vx[r] * vw[k]; });
        check_close<float>("y", results[0], wanted, 45);
    }
}

TEST_CASE("without pixels or channels a convolution is its bias, and gradients are zero") {
    for (const bool own : {false, true}) {
        CAPTURE(own);
        std::optional<own_kernels> forced;
        if (own) forced.emplace();
        check_convolution<float>({2, 3, 3, 0}, {2, 2, 0, 3}, {});
        check_convolution<float>({0, 3, 3, 2}, {2, 2, 2, 3}, {});
        check_convolution<float>({2, 3, 3, 2}, {2, 2, 2, 0}, {});
    }
}

TEST_CASE("relu keeps a NaN") {
    for (const bool own : {false, true}) {
        CAPTURE(own);
        std::optional<own_kernels> forced;
        if (own) forced.emplace();
        const tn::graph g;
        const tn::graph_scope scope(g);
        const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, extents{1, 1, 3, 1});
        const any_tensor w = tn::untyped::placeholder(tn::element_type::float32, extents{1, 1, 1, 1});
        const any_tensor b = tn::untyped::placeholder(tn::element_type::float32, extents{1});
        const any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::conv2d_bias(x, w, b, true); });
        tn::session s(g);
        std::vector<tn::fed_value> feeds;
        const auto filled = [](const extents& sizes, std::initializer_list<float> values) {
            any_array a(tn::element_type::float32, sizes);
            std::copy(values.begin(), values.end(), a.data<float>());
            return a;
        };
        feeds.push_back({x, filled({1, 1, 3, 1}, {std::nanf(""), -1.0f, 2.0f})});
        feeds.push_back({w, filled({1, 1, 1, 1}, {1.0f})});
        feeds.push_back({b, filled({1}, {0.0f})});
        const auto results = s.run_untyped(std::move(feeds), {y});
        const float* v = results[0].data<float>();
        CHECK(std::isnan(v[0]));
        CHECK(v[1] == 0);
        CHECK(v[2] == 2);
    }
}
