#include <bit>

#include "tests.hpp"
#include "float8_products.hpp"

using namespace float8_test;
using tn::any_array;
using tn::any_tensor;
using tn::extents;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinite = std::numeric_limits<float>::infinity();

std::vector<any_array> run(const std::vector<any_tensor>& fetched, const std::vector<any_tensor>& fed,
                           const std::vector<const any_array*>& values) {
    tn::session s(tn::graph::current());
    std::vector<tn::fed_value> feeds;
    for (std::size_t i = 0; i < fed.size(); ++i) feeds.push_back({fed[i], values[i]->share()});
    return s.run_untyped(std::move(feeds), fetched);
}

} // namespace

TEST_CASE("a float is rounded to the nearest number of 8 bits, ties to even, and no further than the largest") {
    for (const bool e4m3 : {true, false}) {
        CAPTURE(e4m3);
        const tn::float8_format f = e4m3 ? tn::float8_format::e4m3 : tn::float8_format::e5m2;
        const std::vector<double>& all = numbers_of(e4m3);
        REQUIRE(static_cast<double>(tn::largest_of(f)) == all.back());
        for (std::size_t i = 0; i < all.size(); ++i)
            for (const float sign : {1.0F, -1.0F}) {
                const float x = sign * static_cast<float>(all[i]);
                REQUIRE(tn::rounded_to(f, x) == x);
                REQUIRE(tn::bits_of(f, x) == (sign < 0 ? 0x80U : 0U) + i);
                if (i + 1 == all.size()) continue;
                const float tie = sign * static_cast<float>((all[i] + all[i + 1]) / 2);
                for (const float near : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, sign * infinite)})
                    REQUIRE(static_cast<double>(tn::rounded_to(f, near)) == nearest(e4m3, static_cast<double>(near)));
            }
        std::mt19937_64 random(3);
        for (int i = 0; i < 100000; ++i) {
            const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
            if (std::isnan(x)) continue;
            REQUIRE(static_cast<double>(tn::rounded_to(f, x)) == nearest(e4m3, static_cast<double>(x)));
        }
        CHECK(std::isnan(tn::rounded_to(f, not_a_number)));
        CHECK(tn::bits_of(f, not_a_number) == 0x7F);
        CHECK(tn::rounded_to(f, -infinite) == -tn::largest_of(f));
    }
}

TEST_CASE_TEMPLATE("matmul_float8 is the product of operands that are scaled and rounded", T, float, tn::half,
                   tn::bfloat16) {
    std::mt19937_64 random(11);
    const std::int64_t m = 13, n = 21, k = 37;
    for (const bool ta : {false, true})
        for (const bool tb : {false, true})
            for (const auto& [scale_a, scale_b] :
                 {std::pair(1.0F, 1.0F), std::pair(0x1p-12F, 300.0F), std::pair(0.0F, 1.0F)}) {
                const tn::graph_scope scope{tn::graph()};
                const any_array a = drawn<T>(ta ? extents(k, m) : extents(m, k), random, scale_a);
                const any_array b = drawn<T>(tb ? extents(n, k) : extents(k, n), random, scale_b);
                const any_tensor x = tn::untyped::placeholder(a.element(), a.extents());
                const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
                const auto e = product(
                    rounded<T>(a, true), rounded<T>(b, true), m, n, k,
                    [&](auto i, auto l) { return ta ? l * m + i : i * k + l; },
                    [&](auto l, auto j) { return tb ? j * k + l : l * n + j; });
                CHECK(is_near<T>(run({tn::untyped::matmul_float8(x, w, ta, tb)}, {x, w}, {&a, &b})[0], e, k));
            }
}

TEST_CASE("matmul_float8 of the largest and the smallest floats keeps their products") {
    std::mt19937_64 random(12);
    for (const auto& [scale_a, scale_b] : {std::pair(1e-38F, 1e30F), std::pair(1e30F, 1e-30F), std::pair(1e36F, 1e-37F),
                                           std::pair(1e37F, 1e-37F), std::pair(1e-37F, 1e37F)}) {
        const tn::graph_scope scope{tn::graph()};
        const any_array a = drawn<float>(extents(4, 8), random, scale_a),
                        b = drawn<float>(extents(8, 4), random, scale_b);
        const any_tensor x = tn::untyped::placeholder(a.element(), a.extents());
        const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
        const auto e = product(
            rounded<float>(a, true), rounded<float>(b, true), 4, 4, 8, [](auto i, auto l) { return i * 8 + l; },
            [](auto l, auto j) { return l * 4 + j; });
        CHECK(is_near<float>(run({tn::untyped::matmul_float8(x, w)}, {x, w}, {&a, &b})[0], e, 8));
    }
}

TEST_CASE_FIXTURE(in_graph, "a batch is scaled as one tensor, and is repeated as matmul's are") {
    std::mt19937_64 random(13);
    any_array a = drawn<float>(extents(2, 3, 4), random), b = drawn<float>(extents(4, 5), random);
    a.data<float>()[0] = 100; // decides for both matrices
    const any_tensor x = tn::untyped::placeholder(a.element(), a.extents());
    const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
    const auto e = product(
        rounded<float>(a, true), rounded<float>(b, true), 6, 5, 4, [](auto i, auto l) { return i * 4 + l; },
        [](auto l, auto j) { return l * 5 + j; });
    const any_array c = std::move(run({tn::untyped::matmul_float8(x, w)}, {x, w}, {&a, &b})[0]);
    CHECK(c.extents() == extents(2, 3, 5));
    CHECK(is_near<float>(c, e, 4));
}

TEST_CASE_TEMPLATE("the gradient of matmul_float8 is the product of what flows in, rounded to e5m2, and the operands",
                   T, float, tn::bfloat16) {
    std::mt19937_64 random(14);
    const std::int64_t m = 6, n = 9, k = 7;
    for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
            const tn::graph_scope scope{tn::graph()};
            const any_array a = drawn<T>(ta ? extents(k, m) : extents(m, k), random);
            const any_array b = drawn<T>(tb ? extents(n, k) : extents(k, n), random);
            const any_array c = drawn<T>(extents(m, n), random);
            const any_tensor x = tn::untyped::placeholder(a.element(), a.extents());
            const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
            const any_tensor dy = tn::untyped::placeholder(c.element(), c.extents());
            const any_tensor loss =
                tn::untyped::sum(tn::untyped::multiply(tn::untyped::matmul_float8(x, w, ta, tb), dy));
            const std::vector<any_array> d = run(tn::gradients(loss, std::vector{x, w}), {x, w, dy}, {&a, &b, &c});
            const auto at_a = [&](auto i, auto l) { return ta ? l * m + i : i * k + l; };
            const auto at_b = [&](auto l, auto j) { return tb ? j * k + l : l * n + j; };
            const std::vector<double> ra = rounded<T>(a, true), rb = rounded<T>(b, true), rc = rounded<T>(c, false);
            const auto da = ta ? product(rb, rc, k, m, n, at_b, [&](auto j, auto i) { return i * n + j; })
                               : product(
                                     rc, rb, m, k, n, [&](auto i, auto j) { return i * n + j; },
                                     [&](auto j, auto l) { return at_b(l, j); });
            const auto db = tb ? product(
                                     rc, ra, n, k, m, [&](auto j, auto i) { return i * n + j; }, at_a)
                               : product(
                                     ra, rc, k, n, m, [&](auto l, auto i) { return at_a(i, l); },
                                     [&](auto i, auto j) { return i * n + j; });
            CHECK(is_near<T>(d[0], da, n));
            CHECK(is_near<T>(d[1], db, m));
        }
}

TEST_CASE("the gradient of one matrix for a batch sums over the batch, whose sizes may be known late") {
    std::mt19937_64 random(17);
    const tn::graph_scope scope{tn::graph()};
    const any_array a = drawn<float>(extents(2, 3, 4), random), b = drawn<float>(extents(4, 5), random);
    const any_array c = drawn<float>(extents(2, 3, 5), random);
    const any_tensor x = tn::untyped::placeholder(a.element(), {tn::extent{}, tn::extent{}, tn::extent{}});
    const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
    const any_tensor dy = tn::untyped::placeholder(c.element(), c.extents());
    const any_tensor loss = tn::untyped::sum(tn::untyped::multiply(tn::untyped::matmul_float8(x, w), dy));
    const std::vector<any_array> d = run(tn::gradients(loss, std::vector{w, x}), {x, w, dy}, {&a, &b, &c});
    const std::vector<double> ra = rounded<float>(a, true), rb = rounded<float>(b, true), rc = rounded<float>(c, false);
    CHECK(is_near<float>(
        d[0],
        product(
            ra, rc, 4, 5, 6, [](auto l, auto r) { return r * 4 + l; }, [](auto r, auto j) { return r * 5 + j; }),
        6));
    CHECK(is_near<float>(
        d[1],
        product(
            rc, rb, 6, 4, 5, [](auto r, auto j) { return r * 5 + j; }, [](auto j, auto l) { return l * 5 + j; }),
        5));
}

TEST_CASE_FIXTURE(in_graph, "gradients of matmul_float8's gradients flow to what flows in and to the operands") {
    std::mt19937_64 random(15);
    const any_array a = drawn<float>(extents(4, 6), random), b = drawn<float>(extents(6, 5), random);
    const any_tensor x = tn::untyped::placeholder(a.element(), a.extents());
    const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
    const auto of = [&](auto f) { // of sum((d sum((x w)^2) / dx)^2)
        const any_tensor y = f(x, w), dx = tn::gradients(tn::untyped::sum(tn::untyped::square(y)), std::vector{x})[0];
        return tn::gradients(tn::untyped::sum(tn::untyped::square(dx)), std::vector{x, w});
    };
    const auto rounding = of([](auto p, auto q) { return tn::untyped::matmul_float8(p, q); });
    const auto exact = of([](auto p, auto q) { return tn::untyped::matmul(p, q); });
    const std::vector<any_array> d = run({rounding[0], rounding[1], exact[0], exact[1]}, {x, w}, {&a, &b});
    for (const std::size_t i : {0U, 1U}) {
        double most = 0;
        for (std::int64_t j = 0; j < d[i].elements(); ++j) most = std::fmax(most, std::fabs(d[i + 2].data<float>()[j]));
        for (std::int64_t j = 0; j < d[i].elements(); ++j)
            CHECK(std::fabs(d[i].data<float>()[j] - d[i + 2].data<float>()[j]) <= 0.25 * most);
    }
}

TEST_CASE("a product of what is not finite is not finite") {
    for (const float bad : {not_a_number, infinite}) {
        std::mt19937_64 random(16);
        const tn::graph_scope scope{tn::graph()};
        any_array a = drawn<float>(extents(4, 6), random);
        const any_array b = drawn<float>(extents(6, 5), random);
        a.data<float>()[7] = bad;
        const any_tensor x = tn::untyped::placeholder(a.element(), a.extents());
        const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
        const any_array c = std::move(run({tn::untyped::matmul_float8(x, w)}, {x, w}, {&a, &b})[0]);
        for (std::int64_t i = 0; i < c.elements(); ++i) CHECK(!std::isfinite(c.data<float>()[i]));
    }
}

TEST_CASE_FIXTURE(in_graph, "matmul_float8 says which operands it takes") {
    const auto of = [](tn::element_type e, const extents& sizes) { return tn::untyped::placeholder(e, sizes); };
    using enum tn::element_type;
    CHECK_ERROR(tn::invalid_argument_error, "matmul_float8: elements are float, half or bfloat16",
                tn::untyped::matmul_float8(of(float64, extents(2, 3)), of(float64, extents(3, 4))));
    CHECK_ERROR(tn::invalid_argument_error, "rank is too low",
                tn::untyped::matmul_float8(of(float32, extents(2, 3)), of(float32, extents(3))));
    CHECK_ERROR(tn::invalid_argument_error, "inner dimensions differ",
                tn::untyped::matmul_float8(of(float32, extents(2, 3)), of(float32, extents(4, 3))));
}
