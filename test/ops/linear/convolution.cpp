#include "tests.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using tn::array, tn::any_array, tn::any_tensor, tn::shape, tn::extents, tn::conv2d_options;
using tn::test::random_array;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

// A convolution in double, from its formula. `before` is what the padding rule puts above and to the left.
struct naive {
    extents x, w;
    conv2d_options o;
    std::int64_t top = 0, left = 0, rows = 0, columns = 0;

    naive(const extents& image, const extents& window, const conv2d_options& options) :
        x(image), w(window), o(options) {
        const auto axis = [&](std::int64_t n, std::int64_t k, std::int64_t stride, std::int64_t dilation,
                              std::int64_t before, std::int64_t after, std::int64_t& first, std::int64_t& count) {
            const std::int64_t reach = dilation * (k - 1) + 1;
            if (o.padding.kind == tn::padding::rule::same) {
                count = (n + stride - 1) / stride;
                std::int64_t total = (count - 1) * stride + reach - n;
                if (total < 0) total = 0;
                first = total / 2;
            } else {
                first = before;
                count = (n + before + after - reach) / stride + 1;
            }
        };
        axis(x[1].size, w[0].size, o.stride.height, o.dilation.height, o.padding.top, o.padding.bottom, top, rows);
        axis(x[2].size, w[1].size, o.stride.width, o.dilation.width, o.padding.left, o.padding.right, left, columns);
    }
    std::int64_t n() const { return x[0].size; }
    std::int64_t outputs() const { return w[3].size; }
    extents y() const { return {n(), rows, columns, outputs()}; }

    // f(index in x, index in w, index in y) for each product of the sum.
    template <class F> void products(F f) const {
        const std::int64_t seen = w[2].size, per_group = outputs() / o.groups;
        for (std::int64_t b = 0; b < n(); ++b)
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t j = 0; j < columns; ++j)
                    for (std::int64_t k = 0; k < outputs(); ++k)
                        for (std::int64_t p = 0; p < w[0].size; ++p)
                            for (std::int64_t q = 0; q < w[1].size; ++q) {
                                const std::int64_t u = i * o.stride.height + p * o.dilation.height - top;
                                const std::int64_t v = j * o.stride.width + q * o.dilation.width - left;
                                if (u < 0 || v < 0 || u >= x[1].size || v >= x[2].size) continue;
                                for (std::int64_t c = 0; c < seen; ++c)
                                    f(((b * x[1].size + u) * x[2].size + v) * x[3].size + k / per_group * seen + c,
                                      ((p * w[1].size + q) * seen + c) * outputs() + k,
                                      ((b * rows + i) * columns + j) * outputs() + k);
                            }
    }
};

template <class T> double tolerance() {
    return std::is_same_v<T, double>     ? 1e-13
           : std::is_same_v<T, float>    ? 2e-6
           : std::is_same_v<T, tn::half> ? 1e-3
                                         : 8e-3;
}

template <class T> std::vector<double> numbers(const any_array& a) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < a.elements(); ++i) v.push_back(static_cast<double>(a.data<T>()[i]));
    return v;
}

template <class T> void check_close(const any_array& found, const std::vector<double>& wanted, double scale) {
    REQUIRE(found.elements() == static_cast<std::int64_t>(wanted.size()));
    const std::vector<double> f = numbers<T>(found);
    for (std::size_t i = 0; i < f.size(); ++i) {
        INFO(i << ": " << f[i] << " instead of " << wanted[i]);
        CHECK(std::fabs(f[i] - wanted[i]) <= tolerance<T>() * (std::fabs(wanted[i]) + scale));
    }
}

// conv2d and both gradients against the formula.
template <class T> void check_convolution(const extents& image, const extents& window, const conv2d_options& o) {
    const naive ref(image, window, o);
    CAPTURE(tn::to_string(image));
    CAPTURE(tn::to_string(window));
    CAPTURE(tn::to_string(ref.y()));
    const tn::graph_scope scope{tn::graph()};
    const any_tensor x = tn::untyped::placeholder(tn::element_type_of<T>, image);
    const any_tensor w = tn::untyped::placeholder(tn::element_type_of<T>, window);
    const any_tensor y = tn::untyped::conv2d(x, w, o);
    REQUIRE(y.extents() == ref.y());
    const any_tensor dy = tn::untyped::placeholder(tn::element_type_of<T>, ref.y());
    const std::vector<any_tensor> g = tn::detail::add_gradients({y}, {x, w}, {dy});
    const any_array ax = random_array<T>(image, 1), aw = random_array<T>(window, 2), ady = random_array<T>(ref.y(), 3);
    tn::session s(tn::graph::current());
    const auto results = s.run_untyped(tn::test::fed(x, ax, w, aw, dy, ady), {y, g[0], g[1]});
    const auto vx = numbers<T>(ax), vw = numbers<T>(aw), vdy = numbers<T>(ady);
    std::vector<double> wy(vdy.size()), wdx(vx.size()), wdw(vw.size());
    ref.products([&](std::int64_t i, std::int64_t k, std::int64_t r) {
        const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(k), c = static_cast<std::size_t>(r);
        wy[c] += vx[a] * vw[b];
        wdx[a] += vdy[c] * vw[b];
        wdw[b] += vdy[c] * vx[a];
    });
    // Terms of a sum reach 9; there are as many as a result has factors.
    const auto terms = [](std::int64_t n) { return 9 * std::sqrt(static_cast<double>(n)) + 1; };
    check_close<T>(results[0], wy, terms(window[0].size * window[1].size * window[2].size));
    check_close<T>(results[1], wdx, terms(window[0].size * window[1].size * window[3].size));
    check_close<T>(results[2], wdw, terms(ref.n() * ref.rows * ref.columns));
}

} // namespace

TEST_CASE_TEMPLATE("conv2d and its gradients are the formula: strides, paddings, dilations, groups", T, float, double) {
    check_convolution<T>({2, 7, 6, 3}, {3, 3, 3, 4}, {});
    check_convolution<T>({2, 7, 6, 3}, {3, 2, 3, 5}, {.padding = tn::same});
    check_convolution<T>({1, 8, 9, 2}, {3, 3, 2, 4}, {.stride = 2, .padding = tn::same});
    check_convolution<T>({1, 8, 9, 2}, {2, 3, 2, 4}, {.stride = {3, 2}});
    check_convolution<T>({2, 6, 6, 2}, {3, 3, 2, 3}, {.stride = {2, 1}, .padding = tn::pad(2, 1, 0, 3)});
    check_convolution<T>({1, 9, 9, 2}, {3, 3, 2, 2}, {.padding = tn::same, .dilation = 2});
    check_convolution<T>({1, 9, 8, 1}, {2, 3, 1, 2}, {.stride = 2, .padding = tn::pad(1), .dilation = {3, 2}});
    check_convolution<T>({2, 5, 5, 6}, {3, 3, 2, 9}, {.padding = tn::same, .groups = 3});
    check_convolution<T>({2, 5, 5, 4}, {3, 3, 1, 8}, {.padding = tn::same, .groups = 4});
    check_convolution<T>({3, 4, 4, 5}, {1, 1, 5, 7}, {});
    check_convolution<T>({3, 5, 4, 5}, {1, 1, 5, 7}, {.stride = 3, .padding = tn::same});
    check_convolution<T>({1, 28, 28, 1}, {5, 5, 1, 8}, {});
    check_convolution<T>({2, 10, 12, 16}, {5, 5, 16, 32}, {.padding = tn::same});
    check_convolution<T>({1, 3, 3, 2}, {3, 3, 2, 2}, {});
    check_convolution<T>({1, 1, 1, 2}, {3, 3, 2, 2}, {.padding = tn::same});
}

TEST_CASE_TEMPLATE("16-bit types are computed in float", T, tn::half, tn::bfloat16) {
    check_convolution<T>({2, 7, 6, 3}, {3, 3, 3, 4}, {.padding = tn::same});
    check_convolution<T>({1, 8, 9, 2}, {2, 3, 2, 4}, {.stride = {3, 2}});
}

TEST_CASE("sizes of zero: nothing comes out, and a sum of nothing is zero") {
    check_convolution<float>({0, 7, 6, 3}, {3, 3, 3, 4}, {});
    check_convolution<float>({2, 7, 6, 0}, {3, 3, 0, 4}, {});
    check_convolution<float>({2, 7, 6, 3}, {3, 3, 3, 0}, {});
}

TEST_CASE("bias and relu in the same pass, and their gradients") {
    const tn::graph_scope scope{tn::graph()};
    for (const bool relu : {false, true}) {
        const any_tensor x = tn::untyped::placeholder(tn::element_type::float64, {2, 5, 5, 3});
        const any_tensor w = tn::untyped::placeholder(tn::element_type::float64, {3, 3, 3, 4});
        const any_tensor b = tn::untyped::placeholder(tn::element_type::float64, {4});
        const any_tensor fused = tn::untyped::conv2d_bias(x, w, b, relu, {.padding = tn::same});
        any_tensor plain = tn::untyped::add(tn::untyped::conv2d(x, w, {.padding = tn::same}), b);
        if (relu) plain = tn::untyped::relu(plain);
        const any_tensor dy = tn::untyped::placeholder(tn::element_type::float64, {2, 5, 5, 4});
        const auto g = tn::detail::add_gradients({fused}, {x, w, b}, {dy});
        const auto h = tn::detail::add_gradients({plain}, {x, w, b}, {dy});
        tn::session s(tn::graph::current());
        const auto run = [&](const std::vector<any_tensor>& fetches) {
            return s.run_untyped(tn::test::fed(x, random_array<double>({2, 5, 5, 3}, 1), w,
                                               random_array<double>({3, 3, 3, 4}, 2), b, random_array<double>({4}, 3),
                                               dy, random_array<double>({2, 5, 5, 4}, 4)),
                                 fetches);
        };
        const auto all = run({fused, g[0], g[1], g[2], plain, h[0], h[1], h[2]});
        for (std::size_t k = 0; k < 4; ++k) CHECK(all_close(all[k], all[k + 4], 1e-12, 1e-12));
        // The gradient of the bias alone, without that of w.
        CHECK(all_close(run({g[2]})[0], all[7], 1e-12, 1e-12));
    }
}

TEST_CASE("conv2d_transpose is what conv2d does to gradients") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<double, shape<batch, 4, 5, 3>>("x");
    const auto w = tn::placeholder<double, shape<3, 3, 2, 3>>("w");
    const auto y = tn::conv2d_transpose<2, tn::same>(x, w);
    static_assert(std::is_same_v<decltype(y), const tn::tensor<double, shape<batch, 8, 10, 2>>>);
    const auto z = tn::conv2d_transpose<2>(x, w);
    static_assert(std::is_same_v<decltype(z), const tn::tensor<double, shape<batch, 9, 11, 2>>>);
    const naive ref({2, 8, 10, 2}, {3, 3, 2, 3}, {.stride = 2, .padding = tn::same});
    const any_array ax = random_array<double>({2, 4, 5, 3}, 1), aw = random_array<double>({3, 3, 2, 3}, 2);
    std::vector<double> wanted(2 * 8 * 10 * 2);
    ref.products([&](std::int64_t i, std::int64_t k, std::int64_t r) {
        wanted[static_cast<std::size_t>(i)] += ax.data<double>()[r] * aw.data<double>()[k];
    });
    tn::session s(tn::graph::current());
    const auto a = s.run(tn::feed(x, ax), tn::feed(w, aw), y);
    check_close<double>(a.untyped(), wanted, 9);
}

TEST_CASE("operands that do not fit are refused with the rule's words") {
    const tn::graph_scope scope{tn::graph()};
    const auto image = [](const extents& e) { return tn::untyped::placeholder(tn::element_type::float32, e); };
    const auto refused = [&](const extents& x, const extents& w, const conv2d_options& o) {
        return message_of<tn::invalid_argument_error>([&] { tn::untyped::conv2d(image(x), image(w), o); });
    };
    CHECK(contains(refused({1, 8, 8, 3}, {3, 3, 4, 8}, {}), "numbers of channels differ: [1, 8, 8, 3] x [3, 3, 4, 8]"));
    CHECK(contains(refused({1, 8, 8, 4}, {3, 3, 4, 8}, {.groups = 2}), "numbers of channels differ"));
    CHECK(contains(refused({1, 8, 8, 3}, {3, 3, 1, 8}, {.groups = 2}), "not divisible by groups"));
    CHECK(contains(refused({1, 8, 8, 4}, {3, 3, 2, 7}, {.groups = 2}), "not divisible by groups"));
    CHECK(contains(refused({1, 2, 8, 3}, {3, 3, 3, 8}, {}), "window is larger"));
    CHECK(contains(refused({1, 4, 8, 3}, {3, 3, 3, 8}, {.dilation = {2, 1}}), "window is larger"));
    CHECK(contains(refused({8, 8, 3}, {3, 3, 3, 8}, {}), "rank must be 4"));
    CHECK(contains(refused({1, 8, 8, 3}, {3, 3, 3, 8}, {.stride = 0}), "out of range"));
    CHECK(contains(refused({1, 8, 8, 3}, {3, 3, 3, 8}, {.padding = tn::pad(-1)}), "out of range"));
    CHECK(contains(refused({1, 8, 8, 3}, {0, 3, 3, 8}, {}), "out of range"));
    CHECK(refused({1, 8, 8, 3}, {3, 3, 3, 8}, {}) == "nothing was thrown");
}
