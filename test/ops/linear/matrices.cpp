#include "ops/linear/matrix_checks.hpp"

// Decompositions, systems of equations, inverses and determinants, against plain loops in double.

using namespace tenon;
using test::element;
using test::random_array;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

// Of placeholders whose sizes the graph does not know.
const test::matrix_runner on_host = [](const auto& values, const auto& build) {
    const graph_scope scope{graph()};
    std::vector<any_tensor> in;
    std::vector<fed_value> feeds;
    for (const any_array* a : values) {
        in.push_back(test::unknown_placeholder(*a));
        feeds.push_back({in.back(), a->share()});
    }
    const std::vector<any_tensor> fetched = build(in);
    return session(graph::current()).run_untyped(std::move(feeds), fetched);
};
template <class F> std::vector<any_array> results(const any_array& a, const F& fetched) {
    return on_host({&a}, fetched);
}

// By the first column, as it is taught; of the rows that are not taken out.
double by_minors(const test::matrices& a, std::int64_t which, std::vector<std::int64_t> out) {
    const auto column = static_cast<std::int64_t>(out.size());
    if (column == a.n) return 1;
    double sum = 0, sign = 1;
    for (std::int64_t i = 0; i < a.n; ++i) {
        if (std::find(out.begin(), out.end(), i) != out.end()) continue;
        out.push_back(i);
        sum += sign * a.at(which, i, column) * by_minors(a, which, out);
        out.pop_back();
        sign = -sign;
    }
    return sum;
}

} // namespace

TEST_CASE_TEMPLATE("cholesky, solve, triangular_solve, inverse: what is multiplied again is what was given", T, float,
                   double) {
    for (const std::int64_t n : {1, 2, 5, 40}) test::check_systems<T>(on_host, n, 3);
}

TEST_CASE_TEMPLATE("determinant, slogdet: the sum over minors", T, float, double) {
    const double rounding = std::is_same_v<T, double> ? 1e-10 : 3e-3;
    for (const std::int64_t n : {1, 2, 3, 6}) {
        const any_array a = random_array<T>({4, n, n}, 3);
        const std::vector<any_array> got = results(a, [](const auto& in) {
            std::vector<any_tensor> all = untyped::slogdet(in[0]);
            all.push_back(untyped::determinant(in[0]));
            return all;
        });
        const test::matrices whole = test::matrices::of<T>(a);
        for (std::int64_t i = 0; i < 4; ++i) {
            const double d = by_minors(whole, i, {});
            CHECK(element<T>(got[2], i) == doctest::Approx(d).epsilon(rounding));
            CHECK(element<T>(got[0], i) == (d > 0 ? 1 : -1));
            CHECK(element<T>(got[1], i) == doctest::Approx(std::log(std::fabs(d))).epsilon(rounding));
        }
    }
    // 1e400 is no double, and its logarithm is.
    array<double> large(extents{200, 200});
    for (int i = 0; i < 200; ++i)
        for (int j = 0; j < 200; ++j) large(i, j) = i == j ? (i == 0 ? -100 : 100) : 0;
    const std::vector<any_array> got =
        results(std::move(large).untyped(), [](const auto& in) { return untyped::slogdet(in[0]); });
    CHECK(element<double>(got[0], 0) == -1);
    CHECK(element<double>(got[1], 0) == doctest::Approx(200 * std::log(100.0)));
    const std::vector<any_array> zero = results(any_array::zeros(element_type::float64, {2, 2}), [](const auto& in) {
        return std::vector{untyped::determinant(in[0]), untyped::slogdet(in[0])[0]};
    });
    CHECK(element<double>(zero[0], 0) == 0);
    CHECK(element<double>(zero[1], 0) == 0);
}

TEST_CASE_TEMPLATE("qr, svd, eigh: the factors make the matrix, and are orthonormal", T, float, double) {
    for (const auto& [m, n] : {std::pair{1, 1}, {4, 4}, {7, 3}, {3, 7}, {30, 20}, {20, 30}, {5, 1}, {1, 5}})
        test::check_factors<T>(on_host, m, n);
    for (const std::int64_t n : {1, 2, 5, 30}) test::check_eigenvectors<T>(on_host, n);
}

TEST_CASE("svd, eigh: of matrices without full rank, and with large and small numbers") {
    test::check_hard_decompositions(on_host);
}

TEST_CASE_FIXTURE(in_graph, "linear algebra: types of results") {
    const auto a = placeholder<float, shape<batch, 3, 3>>("a");
    const auto h = placeholder<double, shape<batch, 5, 3>>("h");
    const auto open = placeholder<double, shape<dyn, dyn>>("open");
    const auto b = placeholder<float, shape<3, 2>>("b");
    const auto line = placeholder<float, shape<3>>("line");
    using three = tensor<float, shape<batch, 3, 3>>;
    static_assert(std::is_same_v<decltype(cholesky(a)), three> && std::is_same_v<decltype(inverse(a * 2.0f)), three>);
    static_assert(std::is_same_v<decltype(solve(a, b)), tensor<float, shape<batch, 3, 2>>>);
    static_assert(std::is_same_v<decltype(solve(a, line)), tensor<float, shape<batch, 3>>>);
    static_assert(std::is_same_v<decltype(triangular_solve(a, b)), tensor<float, shape<batch, 3, 2>>>);
    static_assert(std::is_same_v<decltype(determinant(a)), tensor<float, shape<batch>>>);
    static_assert(
        std::is_same_v<decltype(slogdet(a)), std::tuple<tensor<float, shape<batch>>, tensor<float, shape<batch>>>>);
    static_assert(std::is_same_v<decltype(qr(h)),
                                 std::tuple<tensor<double, shape<batch, 5, 3>>, tensor<double, shape<batch, 3, 3>>>>);
    static_assert(std::is_same_v<decltype(svd(transpose<0, 2, 1>(h))),
                                 std::tuple<tensor<double, shape<batch, 3, 3>>, tensor<double, shape<batch, 3>>,
                                            tensor<double, shape<batch, 3, 5>>>>);
    static_assert(std::is_same_v<decltype(singular_values(open)), tensor<double, shape<dyn>>>);
    static_assert(std::is_same_v<decltype(eigh(a)), std::tuple<tensor<float, shape<batch, 3>>, three>>);

    CHECK_ERROR(invalid_argument_error, "cholesky: the matrices are not square: double[batch, 5, 3]",
                untyped::cholesky(h));
    CHECK_ERROR(invalid_argument_error,
                "solve: right sides have not as many rows as the matrices: float[batch, 3, 3] x float[4, 2]",
                untyped::solve(a, untyped::placeholder(element_type::float32, {4, 2})));
    CHECK_ERROR(invalid_argument_error, "determinant: there are not the two dimensions of a matrix: float[3]",
                untyped::determinant(line));
    CHECK_ERROR(invalid_argument_error, "qr: elements must be float or double: int32[4, 2]",
                untyped::qr(untyped::placeholder(element_type::int32, {4, 2})));
}

TEST_CASE("linear algebra: a matrix for which there is no result is named") {
    test::check_refused_matrices("/cpu:0");
    // Rows and columns of small numbers make no matrix singular.
    const graph_scope scope{graph()};
    const auto small = constant(array<double, shape<2, 2>>{{1, 1e-20}, {0, 1e-20}});
    const auto rows = constant(array<double, shape<2, 2>>{{1, 1}, {1e-20, 2e-20}});
    session s(graph::current());
    CHECK(s.run(inverse(small))(1, 1) == doctest::Approx(1e20));
    CHECK(s.run(inverse(rows))(1, 1) == doctest::Approx(1e20));
}
