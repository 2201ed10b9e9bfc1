#include "tests.hpp"

using namespace tenon;

namespace {
inline constexpr struct sized_rows : dim<"sized_rows"> {} rows;
inline constexpr struct sized_time : dim<"sized_time"> {} steps;

} // namespace

TEST_CASE_FIXTURE(in_graph, "zeros, ones, full, arange_like, eye_like and random tensors take sizes from the run") {
    const auto x = placeholder<float, shape<rows, 3>>("x");
    const auto y = placeholder<double, shape<2, steps>>("y");
    const auto z = zeros<float, shape<rows, 2>>(x);
    const auto f = full<shape<steps, rows>>(std::int64_t{7}, x, y);
    const auto o = ones<bool, shape<4>>(x);
    static_assert(std::is_same_v<decltype(z), const tensor<float, shape<rows, 2>>>);
    static_assert(std::is_same_v<decltype(f), const tensor<std::int64_t, shape<steps, rows>>>);
    const auto a = arange_like<std::int32_t>(x, 5, -2);
    const auto h = arange_like<half, 1>(y, 0.5, 0.25);
    static_assert(std::is_same_v<decltype(h), const tensor<half, shape<steps>>>);
    const auto e = eye_like<float, 0, 0>(x);
    const auto r = random_integers<std::int32_t, shape<rows, 50>>(x, 2, 5);
    const auto n = random_normal<float, shape<5, rows>>(x, 100, 1);
    session s;
    for (const int count : {4, 0, 2}) {
        const array<float> in(extents(count, 3));
        const array<double> times(extents(2, 5));
        const auto given = [&](const auto& t) { return s.run(feed(x, in), feed(y, times), t); };
        CHECK(given(z).extents() == extents(count, 2));
        for (const float v : given(z)) CHECK(v == 0);
        CHECK(given(f).extents() == extents(5, count));
        for (const std::int64_t v : given(f)) CHECK(v == 7);
        CHECK(given(o) == array<bool, shape<4>>{true, true, true, true});
        const auto down = given(a);
        CHECK(down.extents() == extents(count));
        for (int i = 0; i < count; ++i) CHECK(down(i) == 5 - 2 * i);
        const auto halves = given(h);
        CHECK(halves.extents() == extents(5));
        for (int i = 0; i < 5; ++i) CHECK(static_cast<float>(halves(i)) == 0.5F + 0.25F * static_cast<float>(i));
        const auto unit = given(e);
        CHECK(unit.extents() == extents(count, count));
        for (int i = 0; i < count; ++i)
            for (int j = 0; j < count; ++j) CHECK(unit(i, j) == (i == j ? 1.0F : 0.0F));
        CHECK(given(r).extents() == extents(count, 50));
        for (const std::int32_t v : given(r)) CHECK((v >= 2 && v < 5));
        for (const float v : given(n)) CHECK((v > 80 && v < 120));
    }
}

TEST_CASE_FIXTURE(in_graph, "sizes of others: integers wrap around, and what is not known is refused in words") {
    const auto x = placeholder<float, shape<rows>>("x");
    session s;
    const auto bytes = s.run(feed(x, array<float>(extents(4))), arange_like<std::uint8_t>(x, 200, 30));
    CHECK(bytes(3) == static_cast<std::uint8_t>(290));
    CHECK_ERROR(invalid_argument_error, "a size that is no number must be a named one that an operand has",
                untyped::zeros(element_type::float32, {extent::named("sized_time"), 2}, {x}));
    CHECK_ERROR(invalid_argument_error, "cannot hold the number", untyped::arange_like(x, element_type::int8, 0, 200));
    CHECK_ERROR(invalid_argument_error, "axis is out of range", untyped::arange_like(x, element_type::int8, 1));
}
