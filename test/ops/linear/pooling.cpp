#include "../check_gradients.hpp"
#include "ops/linear/window_checks.hpp"
#include "ops/untyped_run.hpp"

using tn::array, tn::any_array, tn::any_tensor, tn::shape, tn::extents, tn::pool2d_options;
using tn::test::check_gradients, tn::test::drawn, tn::test::input;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

template <class T> void check_pools(const extents& image, const pool2d_options& o) {
    tn::test::check_pools<T>("/cpu:0", image, o);
}

} // namespace

TEST_CASE_TEMPLATE(
    "pools and their gradients are the definitions: windows, strides, paddings; the first of equals counts", T, float,
    double, tn::half, tn::bfloat16) {
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

TEST_CASE("a NaN is the largest of its window, and has its gradient") { tn::test::check_pool_of_nan("/cpu:0"); }

TEST_CASE_FIXTURE(in_graph, "a window whose pixels are all around the image has no largest element and no mean") {
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

TEST_CASE_FIXTURE(in_graph, "windows that do not fit are refused with the rule's words") {
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
