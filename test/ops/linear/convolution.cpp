#include "ops/linear/window_checks.hpp"

using tn::any_array, tn::any_tensor, tn::shape, tn::extents, tn::conv2d_options;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

template <class T> void check_convolution(const extents& image, const extents& window, const conv2d_options& o) {
    tn::test::check_convolution<T>("/cpu:0", image, window, o);
}

} // namespace

TEST_CASE_TEMPLATE("conv2d, its bias and relu, and its gradients are the formula: strides, paddings, dilations, groups",
                   T, float, double) {
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

TEST_CASE("the gradient of a bias alone is that beside the others") {
    const tn::graph_scope scope{tn::graph()};
    const auto of = [](const extents& sizes) { return tn::untyped::placeholder(tn::element_type::float64, sizes); };
    const any_tensor x = of({2, 5, 5, 3}), w = of({3, 3, 3, 4}), b = of({4});
    const any_tensor y = tn::untyped::conv2d_bias(x, w, b, true, {.padding = tn::same});
    const auto g = tn::detail::add_gradients({y}, {x, w, b});
    tn::session s(tn::graph::current());
    const auto run = [&](const std::vector<any_tensor>& fetches) {
        return s.run_untyped(tn::test::fed(x, tn::test::random_array<double>(x.extents(), 1), w,
                                           tn::test::random_array<double>(w.extents(), 2), b,
                                           tn::test::random_array<double>(b.extents(), 3)),
                             fetches);
    };
    CHECK(all_close(run({g[2]})[0], run(g)[2], 1e-12, 1e-12));
}

TEST_CASE("conv2d_transpose is what conv2d does to gradients") {
    tn::test::check_transposed_convolution("/cpu:0");
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<double, shape<batch, 4, 5, 3>>("x");
    const auto w = tn::placeholder<double, shape<3, 3, 2, 3>>("w");
    using of_same = decltype(tn::conv2d_transpose<2, tn::same>(x, w));
    static_assert(std::is_same_v<of_same, tn::tensor<double, shape<batch, 8, 10, 2>>>);
    static_assert(std::is_same_v<decltype(tn::conv2d_transpose<2>(x, w)), tn::tensor<double, shape<batch, 9, 11, 2>>>);
}

TEST_CASE_FIXTURE(in_graph, "operands that do not fit are refused with the rule's words") {
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
