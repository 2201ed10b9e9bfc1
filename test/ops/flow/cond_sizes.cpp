#include "tests.hpp"
#include "../check_gradients.hpp"

using namespace tenon;
using test::check_gradients;
using test::input;

namespace {
inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct rest_size : dim<"rest"> {} rest;

using row = tensor<float, shape<2, 3>>;
using rows = tensor<float, shape<batch, 3>>;
constexpr auto gives = [](const auto& x) { return [x] { return x; }; };
static_assert(std::is_same_v<decltype(cond<0>(tensor<bool, shape<>>(), gives(row()), gives(rows()))),
                             tensor<float, shape<dyn, 3>>>);
static_assert(std::is_same_v<decltype(cond<-2, rest>(tensor<bool, shape<>>(), gives(row()), gives(rows()))),
                             tensor<float, shape<rest, 3>>>);
static_assert(
    std::is_same_v<decltype(cond<0>(tensor<bool, shape<>>(), gives(ill_shaped()), gives(rows()))), ill_shaped>);
} // namespace

TEST_CASE("cond<Axis>: both sides may have other sizes along an axis, and only one runs") {
    const graph_scope scope{graph()};
    const auto x = placeholder<float, shape<batch, 3>>("x");
    const auto all = placeholder<bool, shape<>>("all");
    const auto shown = cond<0, rest>(
        all, [&] { return x * 2.0f; },
        [&] {
            return slice<range{0, 1}>(print(x, "first") + 1.0f);
        });
    static_assert(std::is_same_v<decltype(shown), const tensor<float, shape<rest, 3>>>);
    const auto [wide, narrow] = cond<1>(
        all,
        [&] {
            return std::tuple(concat<1>(x, x), constant({{1, 2}}));
        },
        [&] {
            return std::tuple(slice<range{}, range{0, 0}>(x), constant({{3}}));
        });
    const auto total = sum(shown) + sum(wide); // of sizes that the step says
    session s;
    const array<float, shape<batch, 3>> values{{1, 2, 3}, {4, 5, 6}};
    {
        const auto [a, b, c, t] = s.run(feed(x, values), feed(all, true), shown, wide, narrow, total);
        CHECK(a == array<float>{{2, 4, 6}, {8, 10, 12}});
        CHECK(b == array<float>{{1, 2, 3, 1, 2, 3}, {4, 5, 6, 4, 5, 6}});
        CHECK(c == array<int>{{1, 2}});
        CHECK(t.item() == 84);
    }
    {
        const auto [a, b, c, t] = s.run(feed(x, values), feed(all, false), shown, wide, narrow, total);
        CHECK(a == array<float>{{2, 3, 4}});
        CHECK(b.extents() == extents{2, 0});
        CHECK(c == array<int>{{3}});
        CHECK(t.item() == 9);
    }
}

TEST_CASE("cond<Axis>: gradients flow through the side that ran, of any order") {
    for (const bool all : {true, false}) {
        const auto build = [=](const auto& x, const auto& w) {
            const auto y = cond<0>(
                constant(all), [&] { return matmul(x, w); },
                [&] {
                    return slice<range{1, 2}>(sin(x));
                });
            return sum(y * y);
        };
        CHECK(check_gradients(build, input<shape<batch, 3>>(2, 3), input<shape<3, 3>>()) == "");
        CHECK(check_gradients(
                  [&](const auto& x, const auto& w) {
                      const auto [dx, dw] = gradients(build(x, w), x, w);
                      return sum(dx * dx) + sum(dw * x);
                  },
                  input<shape<3, 3>>(), input<shape<3, 3>>()) == "");
    }
}

TEST_CASE("cond<Axis>: sizes along other axes agree, or are said") {
    const graph_scope scope{graph()};
    const any_tensor x = untyped::placeholder(element_type::float32, {2, 3}, "x"), c = constant(true);
    const auto fails = [&](const any_tensor& other, int axis) {
        return message_of<invalid_argument_error>([&] {
            (void)untyped::cond(
                c, [&] { return std::vector{x}; }, [&] { return std::vector{other}; }, axis);
        });
    };
    CHECK(fails(untyped::placeholder(element_type::float32, {2, 4}), 0).find("[2, 3]") != std::string::npos);
    CHECK(fails(untyped::placeholder(element_type::int32, {2, 3}), 0).find("int32[2, 3]") != std::string::npos);
    CHECK(fails(untyped::placeholder(element_type::float32, {2}), 0) != "");
    CHECK(fails(x, 2).find("axis") != std::string::npos);
}
