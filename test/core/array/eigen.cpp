#include <doctest/doctest.h>

#include <tenon/core/array/eigen.hpp>

namespace tn = tenon;
using tn::array, tn::extents, tn::shape;

namespace {
template <class A>
concept MapsAsMatrix = requires(A&& a) {
    tn::as_matrix(static_cast<A&&>(a));
};
template <class A>
concept WritesThroughMatrix = requires(A& a) {
    tn::as_matrix(a)(0, 0) = 1;
};
} // namespace

TEST_CASE("a matrix map is row-major and shares the array's memory") {
    array<float> a{{1, 2, 3}, {4, 5, 6}};
    auto m = tn::as_matrix(a);
    CHECK(m.rows() == 2);
    CHECK(m(1, 0) == 4.0F);
    m(0, 2) = 30;
    CHECK(a(0, 2) == 30.0F);
    const array<float, shape<3, 2>> b{{1, 2}, {3, 4}, {5, 6}};
    array<float, shape<2, 2>> product;
    tn::as_matrix(product) = tn::as_matrix(a) * tn::as_matrix(b);
    CHECK(product == array<float>{{157, 190}, {49, 64}});
}

TEST_CASE("a vector map sees an array of rank 1") {
    array<double> a{3, 4};
    CHECK(tn::as_vector(a).norm() == 5.0);
    tn::as_vector(a) *= 2;
    CHECK(a == array<double>{6, 8});
}

TEST_CASE("another rank is refused, and so is a temporary, at compile time") {
    array<float> a(extents{2, 3, 4});
    CHECK_THROWS_AS(tn::as_matrix(a), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::as_vector(a), tn::invalid_argument_error);
    static_assert(MapsAsMatrix<array<float>&> && MapsAsMatrix<const array<float, shape<2, 2>>&>);
    static_assert(!MapsAsMatrix<array<float>> && !MapsAsMatrix<tn::const_array<float>>);
    static_assert(WritesThroughMatrix<array<float>> && !WritesThroughMatrix<const array<float>>);
    static_assert(MapsAsMatrix<tn::const_array<float>&> && !WritesThroughMatrix<tn::const_array<float>>);
}
