#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"

// Decompositions, systems of equations, inverses and determinants, against plain loops in double.

using namespace tenon;
using test::check_gradients;
using test::element;
using test::given;
using test::input;
using test::random_array;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

using matrix = std::vector<std::vector<double>>;

template <class T> matrix matrix_of(const any_array& a, std::int64_t which) {
    const int rank = a.extents().rank();
    const std::int64_t m = a.extents()[rank - 2].size, n = a.extents()[rank - 1].size;
    matrix r(static_cast<std::size_t>(m), std::vector<double>(static_cast<std::size_t>(n)));
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            r[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = element<T>(a, (which * m + i) * n + j);
    return r;
}
matrix product(const matrix& a, const matrix& b) {
    matrix c(a.size(), std::vector<double>(b.empty() ? 0 : b[0].size()));
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t l = 0; l < b.size(); ++l)
            for (std::size_t j = 0; j < b[l].size(); ++j) c[i][j] += a[i][l] * b[l][j];
    return c;
}
matrix turned(const matrix& a) {
    matrix t(a.empty() ? 0 : a[0].size(), std::vector<double>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < a[i].size(); ++j) t[j][i] = a[i][j];
    return t;
}
matrix unit(std::size_t n) {
    matrix e(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) e[i][i] = 1;
    return e;
}
matrix symmetric(const matrix& a) {
    matrix s = a;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < a.size(); ++j) s[i][j] = (a[i][j] + a[j][i]) / 2;
    return s;
}
double distance(const matrix& a, const matrix& b) {
    REQUIRE(a.size() == b.size());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        REQUIRE(a[i].size() == b[i].size());
        for (std::size_t j = 0; j < a[i].size(); ++j) {
            const double d = std::fabs(a[i][j] - b[i][j]);
            if (!(d <= most)) most = d; // NaN too
        }
    }
    return most;
}
// By the first column, as it is taught.
double by_minors(const matrix& a) {
    if (a.empty()) return 1;
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        matrix minor;
        for (std::size_t k = 0; k < a.size(); ++k)
            if (k != i) minor.emplace_back(a[k].begin() + 1, a[k].end());
        sum += (i % 2 == 0 ? 1 : -1) * a[i][0] * by_minors(minor);
    }
    return sum;
}
template <class T> constexpr double rounding = std::is_same_v<T, double> ? 1e-11 : 3e-4;

// Matrices that are positive definite: a a^T + n.
template <class T> any_array definite(std::int64_t count, std::int64_t n) {
    any_array a = random_array<T>({count, n, n}, 5);
    for (std::int64_t b = 0; b < count; ++b) {
        const matrix m = matrix_of<T>(a, b), s = product(m, turned(m));
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j)
                a.data<T>()[(b * n + i) * n + j] =
                    static_cast<T>(s[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] +
                                   (i == j ? static_cast<double>(n) : 0));
    }
    return a;
}
// What fetched(x) gives for x = a, whose sizes the graph does not know.
template <class F> std::vector<any_array> results(const any_array& a, const F& fetched) {
    const graph_scope scope{graph()};
    extents open;
    for (int i = 0; i < a.extents().rank(); ++i) open.push_back({});
    const any_tensor x = untyped::placeholder(a.element(), open);
    session s(graph::current());
    std::vector<fed_value> feeds;
    feeds.push_back({x, a.share()});
    return s.run_untyped(std::move(feeds), fetched(x));
}

const std::vector<double> spd = {4, 1, 0.5, 1, 5, -1, 0.5, -1, 3};
const std::vector<double> regular = {2, 1, 0.5, -1, 3, -1, 0.5, 1.5, -2};

} // namespace

TEST_CASE_TEMPLATE("cholesky: l l^T is the matrix", T, float, double) {
    for (const std::int64_t n : {1, 2, 5, 40}) {
        const any_array a = definite<T>(3, n);
        const std::vector<any_array> l =
            results(a, [](const any_tensor& x) { return std::vector{untyped::cholesky(x)}; });
        for (std::int64_t b = 0; b < 3; ++b) {
            const matrix m = matrix_of<T>(l[0], b);
            CHECK(distance(product(m, turned(m)), matrix_of<T>(a, b)) <= rounding<T> * static_cast<double>(n * n));
            for (std::size_t i = 0; i < m.size(); ++i)
                for (std::size_t j = i + 1; j < m.size(); ++j) CHECK(m[i][j] == 0);
        }
    }
}

TEST_CASE_TEMPLATE("solve, triangular_solve, inverse: what is multiplied again is what was given", T, float, double) {
    for (const std::int64_t n : {1, 2, 5, 40}) {
        const any_array a = definite<T>(2, n);
        const any_array b = random_array<T>({2, n, 3}, 9);
        const double allowed = rounding<T> * static_cast<double>(n * n);
        const any_tensor none;
        const std::vector<any_array> got = results(a, [&](const any_tensor& x) {
            const any_tensor right = untyped::constant(b.share());
            return std::vector{untyped::solve(x, right),
                               untyped::inverse(x),
                               untyped::triangular_solve(x, right),
                               untyped::triangular_solve(x, right, {.transposed = true}),
                               untyped::triangular_solve(x, right, {.lower = false}),
                               untyped::triangular_solve(x, right, {.lower = false, .transposed = true})};
        });
        for (std::int64_t i = 0; i < 2; ++i) {
            const matrix m = matrix_of<T>(a, i), wanted = matrix_of<T>(b, i);
            matrix lower = m, upper = m;
            for (std::size_t r = 0; r < m.size(); ++r)
                for (std::size_t c = 0; c < m.size(); ++c) (c > r ? lower : upper)[r][c] *= c == r ? 1 : 0;
            CHECK(distance(product(m, matrix_of<T>(got[0], i)), wanted) <= allowed);
            CHECK(distance(product(m, matrix_of<T>(got[1], i)), unit(m.size())) <= allowed);
            CHECK(distance(product(lower, matrix_of<T>(got[2], i)), wanted) <= allowed);
            CHECK(distance(product(turned(lower), matrix_of<T>(got[3], i)), wanted) <= allowed);
            CHECK(distance(product(upper, matrix_of<T>(got[4], i)), wanted) <= allowed);
            CHECK(distance(product(turned(upper), matrix_of<T>(got[5], i)), wanted) <= allowed);
        }
    }
}

TEST_CASE_TEMPLATE("determinant, slogdet: the sum over minors", T, float, double) {
    for (const std::int64_t n : {1, 2, 3, 6}) {
        const any_array a = random_array<T>({4, n, n}, 3);
        const std::vector<any_array> got = results(a, [](const any_tensor& x) {
            std::vector<any_tensor> all = untyped::slogdet(x);
            all.push_back(untyped::determinant(x));
            return all;
        });
        for (std::int64_t i = 0; i < 4; ++i) {
            const double d = by_minors(matrix_of<T>(a, i));
            CHECK(element<T>(got[2], i) == doctest::Approx(d).epsilon(rounding<T> * 10));
            CHECK(element<T>(got[0], i) == (d > 0 ? 1 : -1));
            CHECK(element<T>(got[1], i) == doctest::Approx(std::log(std::fabs(d))).epsilon(rounding<T> * 10));
        }
    }
    // 1e400 is no double, and its logarithm is.
    array<double> large(extents{200, 200});
    for (int i = 0; i < 200; ++i)
        for (int j = 0; j < 200; ++j) large(i, j) = i == j ? (i == 0 ? -100 : 100) : 0;
    const std::vector<any_array> got = results(std::move(large).untyped(), untyped::slogdet);
    CHECK(element<double>(got[0], 0) == -1);
    CHECK(element<double>(got[1], 0) == doctest::Approx(200 * std::log(100.0)));
    const std::vector<any_array> zero =
        results(any_array::zeros(element_type::float64, {2, 2}), [](const any_tensor& x) {
            return std::vector{untyped::determinant(x), untyped::slogdet(x)[0]};
        });
    CHECK(element<double>(zero[0], 0) == 0);
    CHECK(element<double>(zero[1], 0) == 0);
}

TEST_CASE_TEMPLATE("qr, svd: the factors make the matrix, and are orthonormal", T, float, double) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, {4, 4}, {7, 3}, {3, 7}, {30, 20}, {20, 30}, {5, 1}, {1, 5}}) {
        const int m = rows, n = columns;
        const std::size_t k = static_cast<std::size_t>(std::min(m, n));
        CAPTURE(m);
        CAPTURE(n);
        const any_array a = random_array<T>({3, m, n}, 11);
        const std::vector<any_array> got = results(a, [](const any_tensor& x) {
            std::vector<any_tensor> all = untyped::qr(x), more = untyped::svd(x);
            all.insert(all.end(), more.begin(), more.end());
            all.push_back(untyped::singular_values(x));
            return all;
        });
        const double allowed = rounding<T> * 10;
        for (std::int64_t i = 0; i < 3; ++i) {
            const matrix whole = matrix_of<T>(a, i), q = matrix_of<T>(got[0], i), r = matrix_of<T>(got[1], i);
            CHECK(distance(product(q, r), whole) <= allowed);
            CHECK(distance(product(turned(q), q), unit(k)) <= allowed);
            for (std::size_t row = 0; row < k; ++row)
                for (std::size_t column = 0; column < row; ++column) CHECK(r[row][column] == 0);
            const matrix u = matrix_of<T>(got[2], i), vt = matrix_of<T>(got[4], i);
            matrix scaled = vt;
            for (std::size_t j = 0; j < k; ++j) {
                const double s = element<T>(got[3], i * static_cast<std::int64_t>(k) + static_cast<std::int64_t>(j));
                for (double& v : scaled[j]) v *= s;
                CHECK(s >= 0);
                if (j > 0)
                    CHECK(s <= element<T>(got[3], i * static_cast<std::int64_t>(k) + static_cast<std::int64_t>(j) - 1));
                CHECK(element<T>(got[5], i * static_cast<std::int64_t>(k) + static_cast<std::int64_t>(j)) ==
                      doctest::Approx(s).epsilon(allowed));
            }
            CHECK(distance(product(u, scaled), whole) <= allowed);
            CHECK(distance(product(turned(u), u), unit(k)) <= allowed);
            CHECK(distance(product(vt, turned(vt)), unit(k)) <= allowed);
        }
    }
}

TEST_CASE("svd: of matrices without full rank, and with large and small numbers") {
    const std::vector<double> values[] = {std::vector<double>(15, 0.0),
                                          std::vector<double>(15, 1.0),
                                          {1, 2, 3, 2, 4, 6, 0, 0, 0, 1, 1, 1, 3, 5, 7},
                                          std::vector<double>(15, 1e200),
                                          {1e-180, 0, 0, 0, 2e-180, 0, 0, 0, 3e-180, 0, 0, 0, 0, 0, 0}};
    for (const std::vector<double>& v : values) {
        array<double> a(extents{1, 5, 3});
        std::copy(v.begin(), v.end(), a.data());
        const any_array whole = std::move(a).untyped();
        const std::vector<any_array> got = results(whole, untyped::svd);
        const matrix u = matrix_of<double>(got[0], 0), vt = matrix_of<double>(got[2], 0);
        matrix scaled = vt;
        for (std::size_t j = 0; j < 3; ++j)
            for (double& e : scaled[j]) e *= element<double>(got[1], static_cast<std::int64_t>(j));
        const double largest = *std::max_element(v.begin(), v.end());
        CHECK(distance(product(u, scaled), matrix_of<double>(whole, 0)) <= 1e-14 * largest);
        CHECK(distance(product(turned(u), u), unit(3)) <= 1e-13);
        CHECK(distance(product(vt, turned(vt)), unit(3)) <= 1e-13);
    }
}

TEST_CASE_TEMPLATE("eigh: a v is v diag(w)", T, float, double) {
    for (const std::int64_t n : {1, 2, 5, 30}) {
        const any_array a = random_array<T>({2, n, n}, 13);
        const std::vector<any_array> got = results(a, untyped::eigh);
        for (std::int64_t i = 0; i < 2; ++i) {
            const matrix s = symmetric(matrix_of<T>(a, i)), v = matrix_of<T>(got[1], i);
            matrix scaled = v;
            for (std::size_t j = 0; j < v.size(); ++j) {
                const double w = element<T>(got[0], i * n + static_cast<std::int64_t>(j));
                for (std::size_t row = 0; row < v.size(); ++row) scaled[row][j] *= w;
                if (j > 0) CHECK(w >= element<T>(got[0], i * n + static_cast<std::int64_t>(j) - 1));
            }
            CHECK(distance(product(s, v), scaled) <= rounding<T> * 10);
            CHECK(distance(product(turned(v), v), unit(v.size())) <= rounding<T> * 10);
        }
    }
}

TEST_CASE("linear algebra: types of results") {
    const graph_scope scope{graph()};
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

    CHECK_THROWS_WITH_AS(untyped::cholesky(h),
                         doctest::Contains("cholesky: the matrices are not square: double[batch, 5, 3]"),
                         invalid_argument_error);
    CHECK_THROWS_WITH_AS(
        untyped::solve(a, untyped::placeholder(element_type::float32, {4, 2})),
        doctest::Contains("solve: right sides have not as many rows as the matrices: float[batch, 3, 3] x float[4, 2]"),
        invalid_argument_error);
    CHECK_THROWS_WITH_AS(untyped::determinant(line),
                         doctest::Contains("determinant: there are not the two dimensions of a matrix: float[3]"),
                         invalid_argument_error);
    CHECK_THROWS_WITH_AS(untyped::qr(untyped::placeholder(element_type::int32, {4, 2})),
                         doctest::Contains("qr: elements must be float or double: int32[4, 2]"),
                         invalid_argument_error);
}

TEST_CASE("linear algebra: a matrix for which there is no result is named") {
    const graph_scope scope{graph()};
    const auto a = placeholder<double, shape<dyn, 2, 3, 3>>("covariance");
    session s(graph::current());
    const auto fails = [&](const array<double>& value, const any_tensor& of, const char* words) {
        std::vector<fed_value> feeds;
        feeds.push_back({a, value.copy().untyped()});
        CHECK_THROWS_WITH_AS(s.run_untyped(std::move(feeds), {of}), doctest::Contains(words), invalid_argument_error);
    };
    const auto with = [](std::vector<double> third) {
        array<double> v(extents{2, 2, 3, 3});
        for (int i = 0; i < 36; ++i) v.data()[i] = (i / 9 == 2 ? third : spd)[static_cast<std::size_t>(i % 9)];
        return v;
    };
    const std::vector<double> counted = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    fails(with({1, 0, 0, 0, -1, 0, 0, 0, 1}), cholesky(a),
          "cholesky: matrix [1, 0] of the batch [2, 2] is not positive definite");
    fails(with(counted), inverse(a), "inverse: matrix [1, 0] of the batch [2, 2] is singular");
    fails(with({1, 2, 3, 2, 4, 6, 0, 0, 1}), solve(a, a), "solve: matrix [1, 0] of the batch [2, 2] is singular");
    fails(with({1, 0, 0, 0, 0, 0, 0, 0, 1}), triangular_solve(a, a),
          "matrix [1, 0] of the batch [2, 2] has a 0 on its diagonal");
    const double nan = std::numeric_limits<double>::quiet_NaN();
    fails(with({1, nan, 0, 0, 0, 0, 0, 0, 1}), std::get<1>(svd(a)),
          "svd: matrix [1, 0] of the batch [2, 2] has elements that are not finite");
    fails(with({1, nan, 0, 0, 0, 0, 0, 0, 1}), std::get<0>(eigh(a)),
          "matrix [1, 0] of the batch [2, 2] has elements that are not finite");
    fails(with({1, nan, 0, 0, 0, 0, 0, 0, 1}), cholesky(a),
          "matrix [1, 0] of the batch [2, 2] is not positive definite");
    fails(with(counted), inverse(a), "inverse");

    // Rows and columns of small numbers make no matrix singular.
    const auto small = constant(array<double, shape<2, 2>>{{1, 1e-20}, {0, 1e-20}});
    const auto rows = constant(array<double, shape<2, 2>>{{1, 1}, {1e-20, 2e-20}});
    CHECK(s.run(inverse(small))(1, 1) == doctest::Approx(1e20));
    CHECK(s.run(inverse(rows))(1, 1) == doctest::Approx(1e20));
}

TEST_CASE("linear algebra: gradients") {
    const auto regular_2 = [](auto in) {
        std::vector<double> v = regular;
        for (const double x : {3.0, 0.5, -1.0, 1.0, 2.0, 0.0, -0.5, 1.0, 4.0}) v.push_back(x);
        return given(in, v);
    };
    CHECK(check_gradients([](auto a) { return cholesky(a); }, given(input<shape<3, 3>>(), spd)) == "");
    CHECK(check_gradients([](auto a) { return cholesky(a); }, given(input<shape<dyn, dyn, dyn>>(1, 3, 3), spd)) == "");
    CHECK(check_gradients([](auto a) { return inverse(a); }, regular_2(input<shape<2, 3, 3>>())) == "");
    CHECK(check_gradients([](auto a) { return determinant(a); }, regular_2(input<shape<2, 3, 3>>())) == "");
    CHECK(check_gradients([](auto a) { return std::get<1>(slogdet(a)); },
                          regular_2(input<shape<batch, 3, 3>>(2, 3, 3))) == "");
    CHECK(check_gradients([](auto a, auto b) { return solve(a, b); }, regular_2(input<shape<2, 3, 3>>()),
                          input<shape<2, 3, 2>>()) == "");
    CHECK(check_gradients([](auto a, auto b) { return solve(a, b); }, given(input<shape<3, 3>>(), regular),
                          input<shape<2, 3, 2>>()) == "");
    CHECK(check_gradients([](auto a, auto b) { return solve(a, b); }, regular_2(input<shape<2, 3, 3>>()),
                          input<shape<3>>()) == "");
    for (const bool lower : {true, false})
        for (const bool transposed : {true, false})
            CHECK(check_gradients(
                      [&](auto a, auto b) {
                          return triangular_solve(a, b, {lower, transposed});
                      },
                      regular_2(input<shape<2, 3, 3>>()), input<shape<3, 2>>()) == "");
}

TEST_CASE("qr, svd, eigh: gradients of all their results together") {
    const auto in_qr = [](auto a) {
        const auto [q, r] = qr(a);
        return matmul(sin(q), cos(r));
    };
    CHECK(check_gradients(in_qr, given(input<shape<3, 3>>(), regular)) == "");
    CHECK(check_gradients(in_qr, input<shape<2, 4, 2>>()) == "");
    CHECK(check_gradients(in_qr, input<shape<2, 2, 4>>()) == "");
    CHECK(check_gradients(in_qr, input<shape<dyn, dyn>>(4, 3)) == "");
    CHECK(check_gradients([](auto a) { return std::get<0>(qr(a)); }, input<shape<2, 4>>()) == "");
    const auto in_svd = [](auto a) {
        const auto [u, s, vt] = svd(a);
        return matmul(sin(u), exp(vt * 0.3)) * sum(s);
    };
    CHECK(check_gradients(in_svd, given(input<shape<3, 3>>(), regular)) == "");
    CHECK(check_gradients(in_svd, input<shape<2, 4, 2>>()) == "");
    CHECK(check_gradients(in_svd, input<shape<2, 4>>()) == "");
    CHECK(check_gradients([](auto a) { return singular_values(a); }, input<shape<dyn, dyn>>(3, 5)) == "");
    CHECK(check_gradients([](auto a) { return std::get<2>(svd(a)); }, input<shape<4, 3>>()) == "");
    const auto in_eigh = [](auto a) {
        const auto [w, v] = eigh(a);
        return matmul(sin(v), cos(v)) * sum(exp(w * 0.1));
    };
    CHECK(check_gradients(in_eigh, given(input<shape<3, 3>>(), regular)) == "");
    CHECK(check_gradients(in_eigh, input<shape<2, 3, 3>>()) == "");
}
