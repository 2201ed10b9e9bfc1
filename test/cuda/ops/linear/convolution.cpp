#include "../gpu_run.hpp"
#include "ops/linear/window_checks.hpp"

// Convolutions on a GPU against the formula in double, by cuDNN where there is one, and by the library's own kernels.

namespace tn = tenon;
using tn::any_array, tn::any_tensor, tn::extents, tn::conv2d_options;

namespace {

// While it lives, cuDNN is not asked.
struct own_kernels {
    own_kernels() { setenv("TENON_CUDA_CONVOLUTIONS", "own", 1); }
    ~own_kernels() { unsetenv("TENON_CUDA_CONVOLUTIONS"); }
};

template <class T> void check_convolution(const extents& image, const extents& window, const conv2d_options& o) {
    tn::test::check_convolution<T>("/gpu:0", image, window, o);
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
    tn::test::check_transposed_convolution("/gpu:0");
    const own_kernels forced;
    tn::test::check_transposed_convolution("/gpu:0");
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
        const own_graph g;
        const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, extents{1, 1, 3, 1});
        const any_tensor w = tn::untyped::placeholder(tn::element_type::float32, extents{1, 1, 1, 1});
        const any_tensor b = tn::untyped::placeholder(tn::element_type::float32, extents{1});
        const any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::conv2d_bias(x, w, b, true); });
        tn::session s(g);
        std::vector<tn::fed_value> feeds;
        const auto filled = [](const extents& sizes, const std::vector<float>& values) {
            return tn::test::array_of(sizes, values);
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
