#include <doctest/doctest.h>

#include <cstdint>

#include <tenon/core/array.hpp>
#include <tenon/ops/scan.hpp>
#include <tenon/ops/state.hpp>
#include <tenon/runtime/session/session.hpp>

#include "check_gradients.hpp"
#include "random_arrays.hpp"

using namespace tenon;
using test::check_gradients;
using test::element;
using test::input;
using test::random_array;

namespace {
inline constexpr struct batch_size : dim<"batch"> {} batch;

static_assert(
    std::is_same_v<decltype(cumsum<-1>(std::declval<tensor<int, shape<batch, 3>>>())), tensor<int, shape<batch, 3>>>);
static_assert(std::is_same_v<decltype(cumsum<0>(ill_shaped{})), ill_shaped>);
} // namespace

TEST_CASE("cumsum: forward, backward, with and without the element itself") {
    const graph g;
    const graph_scope scope(g);
    const auto x = constant({1, 2, 3, 4});
    session s(g);
    CHECK(s.run(cumsum<0>(x)) == array<int, shape<4>>{1, 3, 6, 10});
    CHECK(s.run(cumsum<0>(x, {.exclusive = true})) == array<int, shape<4>>{0, 1, 3, 6});
    CHECK(s.run(cumsum<0>(x, {.reversed = true})) == array<int, shape<4>>{10, 9, 7, 4});
    CHECK(s.run(cumsum<0>(x, {.exclusive = true, .reversed = true})) == array<int, shape<4>>{9, 7, 4, 0});
    CHECK_THROWS_WITH_AS(untyped::cumsum(x, 1), doctest::Contains("cumsum: axis is out of range: [4]"),
                         invalid_argument_error);
}

TEST_CASE_TEMPLATE("cumsum: along any axis", T, float, double, half, std::int8_t, std::uint32_t, std::int64_t) {
    for (const extents& shape : {extents(3, 4, 5), extents(2, 300, 301), extents(70000), extents(0, 3), extents(3, 0)})
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const graph g;
            const graph_scope scope(g);
            const any_array x = random_array<T>(shape, 9);
            const any_tensor in = untyped::placeholder(element_type_of<T>, shape);
            session s(g);
            std::vector<fed_value> feeds;
            feeds.push_back({in, x.share()});
            const any_array y = std::move(s.run_untyped(std::move(feeds), {untyped::cumsum(in, axis)})[0]);
            std::int64_t inner = 1;
            for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i].size;
            std::vector<double> sums(static_cast<std::size_t>(x.elements()));
            for (std::int64_t i = 0; i < x.elements(); ++i) {
                const bool first = i / inner % shape[axis].size == 0;
                const auto k = static_cast<std::size_t>(i);
                sums[k] = element<T>(x, i) + (first ? 0 : sums[k - static_cast<std::size_t>(inner)]);
                if (std::is_integral_v<T>)
                    REQUIRE(element<T>(y, i) ==
                            static_cast<double>(static_cast<T>(static_cast<std::int64_t>(sums[k]))));
                else
                    REQUIRE(std::fabs(element<T>(y, i) - sums[k]) <=
                            (std::is_same_v<T, half> ? 2e-3 : 1e-6) * (10 + std::fabs(sums[k])));
            }
        }
}

TEST_CASE("cumsum: gradients agree with central differences") {
    CHECK(check_gradients([](const auto& x) { return cumsum<0>(x); }, input<shape<5>>()) == "");
    CHECK(check_gradients([](const auto& x) { return cumsum<1>(x, {.exclusive = true}); },
                          input<shape<batch, 4, 2>>(2, 4, 2)) == "");
    CHECK(check_gradients([](const auto& x) { return cumsum<-1>(x, {.exclusive = true, .reversed = true}); },
                          input<shape<dyn, 4>>(3, 4)) == "");
}
