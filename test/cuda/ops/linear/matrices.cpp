// Decompositions and systems of equations on a GPU: what they must satisfy, and what is said of matrices that have none.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/tenon.hpp>

#include "../both_devices.hpp"

using namespace tenon;
using test::drawn_seed, test::message_of, test::run_on_gpu;

namespace {

// Matrices of a batch in double.
struct matrices {
    explicit matrices(const any_array& a) :
        m(a.extents()[a.extents().rank() - 2].size), n(a.extents()[a.extents().rank() - 1].size) {
        for (std::int64_t i = 0; i < a.elements(); ++i) values.push_back(test::number_at(a, i));
    }
    matrices(std::int64_t rows, std::int64_t columns, std::int64_t count) :
        m(rows), n(columns), values(static_cast<std::size_t>(rows * columns * count)) {}
    double& at(std::int64_t b, std::int64_t i, std::int64_t j) {
        return values[static_cast<std::size_t>((b * m + i) * n + j)];
    }
    double at(std::int64_t b, std::int64_t i, std::int64_t j) const {
        return values[static_cast<std::size_t>((b * m + i) * n + j)];
    }
    std::int64_t count() const { return m * n == 0 ? 0 : static_cast<std::int64_t>(values.size()) / (m * n); }

    std::int64_t m, n;
    std::vector<double> values;
};
matrices transposed(const matrices& a) {
    matrices t(a.n, a.m, a.count());
    for (std::int64_t b = 0; b < a.count(); ++b)
        for (std::int64_t i = 0; i < a.m; ++i)
            for (std::int64_t j = 0; j < a.n; ++j) t.at(b, j, i) = a.at(b, i, j);
    return t;
}
matrices product(const matrices& x, const matrices& y) {
    matrices z(x.m, y.n, x.count());
    for (std::int64_t b = 0; b < x.count(); ++b)
        for (std::int64_t i = 0; i < x.m; ++i)
            for (std::int64_t j = 0; j < y.n; ++j)
                for (std::int64_t k = 0; k < x.n; ++k) z.at(b, i, j) += x.at(b, i, k) * y.at(b, k, j);
    return z;
}
// x with column j times s[j].
matrices scaled(matrices x, const any_array& s) {
    for (std::int64_t b = 0; b < x.count(); ++b)
        for (std::int64_t i = 0; i < x.m; ++i)
            for (std::int64_t j = 0; j < x.n; ++j) x.at(b, i, j) *= test::number_at(s, b * x.n + j);
    return x;
}
double distance(const matrices& x, const matrices& y) {
    REQUIRE(x.values.size() == y.values.size());
    double most = 0;
    for (std::size_t i = 0; i < x.values.size(); ++i) {
        const double d = std::fabs(x.values[i] - y.values[i]);
        if (!(d <= most)) most = d;
    }
    return most;
}
matrices unit(std::int64_t n, std::int64_t count) {
    matrices u(n, n, count);
    for (std::int64_t b = 0; b < count; ++b)
        for (std::int64_t i = 0; i < n; ++i) u.at(b, i, i) = 1;
    return u;
}
// How far columns are from orthonormal ones.
double skewness(const matrices& q) { return distance(product(transposed(q), q), unit(q.n, q.count())); }

template <class T> any_array random_matrices(const extents& sizes, std::mt19937_64& random) {
    return test::array_of<T>(sizes, [&](std::int64_t) { return static_cast<double>(random() % 4001) / 1000 - 2; });
}
template <class T> constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

const std::int64_t sizes[] = {1, 2, 5, 33, 70};

} // namespace

TEST_CASE_TEMPLATE("on a GPU: l l^T = a, and systems of l and of any matrix are solved", T, float, double) {
    std::mt19937_64 random(drawn_seed());
    for (const std::int64_t n : sizes) {
        INFO("n ", n);
        const std::int64_t m = 1 + static_cast<std::int64_t>(random() % 40);
        const any_array x = random_matrices<T>(extents(2, n, n), random),
                        b = random_matrices<T>(extents(2, n, m), random);
        const matrices wide(x), right(b);
        any_array definite(x.element(), x.extents());
        const matrices squared = product(wide, transposed(wide));
        for (std::int64_t i = 0; i < definite.elements(); ++i)
            definite.data<T>()[i] = static_cast<T>(squared.values[static_cast<std::size_t>(i)] +
                                                   (i % (n * n) % (n + 1) == 0 ? static_cast<double>(n) : 0.0));
        const double most = 60 * epsilon<T> * static_cast<double>(n * n);
        const std::vector<any_array> got = run_on_gpu({&definite, &b}, [](const auto& in) {
            const any_tensor l = untyped::cholesky(in[0]);
            return std::vector{l, untyped::triangular_solve(l, in[1]),
                               untyped::triangular_solve(l, in[1], {true, true}), untyped::solve(in[0], in[1]),
                               untyped::inverse(in[0])};
        });
        const matrices l(got[0]), a(definite);
        CHECK(distance(product(l, transposed(l)), a) < most);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = i + 1; j < n; ++j) CHECK(l.at(0, i, j) == 0);
        CHECK(distance(product(l, matrices(got[1])), right) < most);
        CHECK(distance(product(transposed(l), matrices(got[2])), right) < most);
        CHECK(distance(product(a, matrices(got[3])), right) < most);
        CHECK(distance(product(a, matrices(got[4])), unit(n, 2)) < most);
    }
}

TEST_CASE("on a GPU: systems where rows must be exchanged, of each form and of repeated batches") {
    std::mt19937_64 random(drawn_seed());
    any_array a = random_matrices<double>(extents(1, 3, 40, 40), random);
    for (std::int64_t i = 0; i < 3 * 40 * 40; ++i)
        if (i % 1600 % 41 == 0) a.data<double>()[i] = 0;
    const any_array b = random_matrices<double>(extents(2, 1, 40, 3), random),
                    one = random_matrices<double>(extents(40), random);
    CHECK(test::steps_on("/gpu:0", 1, 0, {&a, &b, &one},
                         [](const auto& in) {
                             return std::vector{untyped::solve(in[0], in[1]), untyped::solve(in[0], in[2])};
                         })[0][0]
              .extents() == extents(2, 3, 40, 3));
    for (const bool transposed_too : {false, true}) {
        const auto solved = [&](const auto& in) {
            return std::vector{tenon::add<solve_op>({transposed_too}, {in[0], in[1]}),
                               tenon::add<solve_op>({transposed_too}, {in[0], in[2]})};
        };
        const auto host = std::move(test::steps_on("/cpu:0", 1, 0, {&a, &b, &one}, solved)[0]);
        const std::vector<any_array> gpu = run_on_gpu({&a, &b, &one}, solved);
        for (std::size_t o = 0; o < 2; ++o)
            for (std::int64_t i = 0; i < host[o].elements(); ++i)
                CHECK(gpu[o].data<double>()[i] == doctest::Approx(host[o].data<double>()[i]).epsilon(1e-9));
    }
}

TEST_CASE("on a GPU: determinants of numbers beyond a double's range are in logarithms, and of nothing are 1") {
    any_array large(element_type::float64, extents(2, 3, 3));
    const double values[] = {0, 1e200, 0, 1e200, 0, 0, 0, 0, 1e200, 1, 2, 3, 4, 5, 6, 7, 8, 10};
    std::copy(std::begin(values), std::end(values), large.data<double>());
    const any_array nothing(element_type::float64, extents(2, 0, 0));
    const auto got = run_on_gpu({&large, &nothing}, [](const auto& in) {
        const auto parts = untyped::slogdet(in[0]);
        return std::vector{untyped::determinant(in[0]), parts[0], parts[1], untyped::determinant(in[1])};
    });
    CHECK(got[0].data<double>()[0] == -std::numeric_limits<double>::infinity());
    CHECK(got[0].data<double>()[1] == doctest::Approx(-3));
    CHECK(got[1].data<double>()[0] == -1);
    CHECK(got[2].data<double>()[0] == doctest::Approx(600 * std::log(10)));
    CHECK(got[3].data<double>()[0] == 1);
    CHECK(got[3].data<double>()[1] == 1);
}

TEST_CASE_TEMPLATE("on a GPU: q r, u diag(s) vt and v diag(w) v^T are the matrix, and their vectors orthonormal", T,
                   float, double) {
    std::mt19937_64 random(drawn_seed());
    const std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 1}, {4, 3}, {3, 5}, {40, 33}, {20, 47}};
    for (const auto& of : shapes) {
        const std::int64_t m = of.first, n = of.second;
        INFO(m, " x ", n);
        const any_array x = random_matrices<T>(extents(2, m, n), random);
        const auto got = run_on_gpu({&x}, [](const auto& in) {
            std::vector<any_tensor> all = untyped::qr(in[0]);
            for (const any_tensor& t : untyped::svd(in[0])) all.push_back(t);
            all.push_back(untyped::singular_values(in[0]));
            return all;
        });
        const matrices a(x), q(got[0]), r(got[1]), u(got[2]), vt(got[4]);
        const double most = 200 * epsilon<T> * static_cast<double>(std::max(m, n));
        CHECK(distance(product(q, r), a) < most);
        CHECK(skewness(q) < most);
        for (std::int64_t i = 0; i < r.m; ++i)
            for (std::int64_t j = 0; j < std::min(i, n); ++j) CHECK(r.at(1, i, j) == 0);
        CHECK(distance(product(scaled(u, got[3]), vt), a) < most);
        CHECK(skewness(u) < most);
        CHECK(skewness(transposed(vt)) < most);
        const std::int64_t k = std::min(m, n);
        for (std::int64_t i = 0; i < 2 * k; ++i) {
            CHECK(test::number_at(got[3], i) >= 0);
            if (i % k > 0) CHECK(test::number_at(got[3], i - 1) >= test::number_at(got[3], i));
            CHECK(std::fabs(test::number_at(got[3], i) - test::number_at(got[5], i)) < most);
        }
    }
    for (const std::int64_t n : sizes) {
        INFO("n ", n);
        const any_array x = random_matrices<T>(extents(n, n), random);
        const auto got = run_on_gpu({&x}, [](const auto& in) { return untyped::eigh(in[0]); });
        matrices a(x);
        const matrices t = transposed(a), v(got[1]);
        for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] = (a.values[i] + t.values[i]) / 2;
        const double most = 200 * epsilon<T> * static_cast<double>(n);
        CHECK(distance(product(scaled(v, got[0]), transposed(v)), a) < most);
        CHECK(skewness(v) < most);
        for (std::int64_t i = 1; i < n; ++i) CHECK(test::number_at(got[0], i - 1) <= test::number_at(got[0], i));
    }
}

TEST_CASE("on a GPU: matrices without full rank, with equal values, of nothing but 0, and of large and small numbers") {
    std::mt19937_64 random(drawn_seed());
    // Rows 0 and 3 are equal, column 4 is 0; of rank 1; zeros; the unit matrix; 1e-170 and 1e170.
    any_array all = random_matrices<double>(extents(6, 6, 5), random);
    for (std::int64_t b = 0; b < 6; ++b)
        for (std::int64_t i = 0; i < 6; ++i)
            for (std::int64_t j = 0; j < 5; ++j) {
                double* const of = all.data<double>() + b * 30;
                double& x = of[i * 5 + j];
                if (b == 0) x = j == 4 ? 0 : i == 3 ? of[j] : x;
                if (b == 1) x = static_cast<double>((i + 1) * (j - 2));
                if (b == 2) x = 0;
                if (b == 3) x = i == j ? 1 : 0;
                if (b == 4) x *= 1e-170;
                if (b == 5) x *= 1e170;
            }
    const auto got = run_on_gpu({&all}, [](const auto& in) { return untyped::svd(in[0]); });
    const matrices a(all), u(got[0]), vt(got[2]), made = product(scaled(u, got[1]), vt);
    CHECK(skewness(u) < 1e-13);
    CHECK(skewness(transposed(vt)) < 1e-13);
    for (std::int64_t b = 0; b < 6; ++b)
        for (std::int64_t i = 0; i < 6; ++i)
            for (std::int64_t j = 0; j < 5; ++j) {
                const double scale = b == 4 ? 1e-170 : b == 5 ? 1e170 : 1;
                CHECK(std::fabs(made.at(b, i, j) - a.at(b, i, j)) < 1e-13 * scale);
            }
    const any_array flat = test::array_of<double>(extents(7, 7), [](std::int64_t) { return 1.0; });
    const auto values = run_on_gpu({&flat}, [](const auto& in) { return untyped::eigh(in[0]); });
    CHECK(values[0].data<double>()[6] == doctest::Approx(7));
    for (int i = 0; i < 6; ++i) CHECK(std::fabs(values[0].data<double>()[i]) < 1e-13);
    CHECK(skewness(matrices(values[1])) < 1e-13);
}

TEST_CASE("on a GPU: a matrix for which there is no result is named as on the host, also in a step that is replayed") {
    const std::vector<double> good = {4, 1, 0.5, 1, 5, -1, 0.5, -1, 3};
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    struct refused {
        std::vector<double> third; // of the batch [2, 2]
        std::function<any_tensor(const any_tensor&)> op;
        std::string words;
    };
    const std::string which = ": matrix [1, 0] of the batch [2, 2] ";
    const refused all[] = {
        {{1, 0, 0, 0, -1, 0, 0, 0, 1}, untyped::cholesky, "cholesky" + which + "is not positive definite"},
        {{1, nan, 0, 0, 0, 0, 0, 0, 1}, untyped::cholesky, "cholesky" + which + "is not positive definite"},
        {{1, 2, 3, 4, 5, 6, 7, 8, 9}, untyped::inverse, "inverse" + which + "is singular"},
        {{1, 2, 3, 2, 4, 6, 0, 0, 1},
         [](const any_tensor& a) { return untyped::solve(a, a); },
         "solve" + which + "is singular"},
        {{1, nan, 3, 2, 4, 6, 0, 0, 1},
         [](const any_tensor& a) { return untyped::solve(a, a); },
         "solve" + which + "is singular"},
        {{1, 0, 0, 0, 0, 0, 0, 0, 1},
         [](const any_tensor& a) { return untyped::triangular_solve(a, a); },
         "triangular_solve" + which + "has a 0 on its diagonal"},
        {{1, inf, 0, 0, 0, 0, 0, 0, 1}, untyped::singular_values, "svd" + which + "has elements that are not finite"},
        {{1, 0, 0, 0, 0, 0, nan, 0, 1},
         [](const any_tensor& a) { return untyped::eigh(a)[1]; },
         "eigh" + which + "has elements that are not finite"}};
    for (const refused& r : all) {
        INFO(r.words);
        const graph g;
        const graph_scope scope(g);
        const auto a = placeholder<double, shape<2, 2, 3, 3>>("a");
        const any_tensor y = on("/gpu:0", [&] { return r.op(a); });
        session s(g);
        const auto run = [&](bool fails) {
            any_array value(element_type::float64, extents(2, 2, 3, 3));
            for (std::int64_t i = 0; i < 36; ++i)
                value.data<double>()[i] = (fails && i / 9 == 2 ? r.third : good)[static_cast<std::size_t>(i % 9)];
            std::vector<fed_value> feeds;
            feeds.push_back({a, std::move(value)});
            return std::move(s.run_untyped(std::move(feeds), {y})[0]);
        };
        const std::string said = message_of<invalid_argument_error>([&] { run(true); });
        CHECK_MESSAGE(said.find(r.words) != std::string::npos, said);
        CHECK(said.find("GPU:0") != std::string::npos);
        const any_array before = run(false);
        for (int i = 0; i < 3; ++i) CHECK(test::same_bits(run(false), before));
        CHECK(message_of<invalid_argument_error>([&] { run(true); }) == said);
        CHECK(test::same_bits(run(false), before));
    }
}
