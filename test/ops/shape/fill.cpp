#include "tests.hpp"

using namespace tenon;

TEST_CASE_TEMPLATE("zeros, ones and full: one value everywhere", T, float, double, half, bfloat16, std::int8_t,
                   std::int64_t, bool) {
    const graph_scope scope{graph()};
    session s;
    static_assert(std::is_same_v<typename decltype(zeros<T, shape<2, 3>>())::shape_type, shape<2, 3>>);
    static_assert(std::is_same_v<typename decltype(ones<T>())::element_type, T>);
    const auto [none, each, some, scalar] =
        s.run(zeros<T, shape<2, 3>>(), ones<T, shape<4>>(), full<shape<3, 1>>(static_cast<T>(1)), ones<T>());
    for (const T v : none) CHECK(v == T());
    for (const T v : each) CHECK(v == static_cast<T>(1));
    for (const T v : some) CHECK(v == static_cast<T>(1));
    CHECK(scalar.item() == static_cast<T>(1));
}

TEST_CASE_FIXTURE(in_graph, "zeros() and ones() without template arguments are initialisers") {
    const auto v = variable<float, shape<2>>("v", zeros()), w = variable<float, shape<2>>("w", ones());
    initialized_session s;
    CHECK(s.run(v + w)[1] == 1);
}

TEST_CASE_FIXTURE(in_session, "eye is 1 on the diagonal, whatever its sides") {
    const auto [square, wide, tall] = s.run(eye<double, 3>(), eye<float, 2, 4>(), eye<std::int32_t, 3, 1>());
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) CHECK(square(i, j) == (i == j));
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) CHECK(wide(i, j) == static_cast<float>(i == j));
    CHECK(tall[0] + tall[1] + tall[2] == 1);
}

TEST_CASE_FIXTURE(in_session, "arange steps from its start, linspace meets both its ends") {
    const auto [ids, steps, grid, point] = s.run(arange<std::int32_t, 5>(), arange<half, 3>(1, -0.5),
                                                 linspace<double, 11>(-0.3, 0.7), linspace<float, 1>(2, 3));
    for (int i = 0; i < 5; ++i) CHECK(ids(i) == i);
    CHECK(steps(2) == half(0.0f));
    for (int i = 0; i < 11; ++i) CHECK(grid(i) == doctest::Approx(-0.3 + 0.1 * i));
    CHECK(grid(0) == -0.3);
    CHECK(grid(10) == 0.7);
    CHECK(point(0) == 2);
}
