#pragma once

#include "tests.hpp"
#include "ops/random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

/// What decompositions of matrices and systems of equations must satisfy, by plain loops in double, whoever computes them.

namespace tenon::test {

/// Computes what is built of placeholders for the values.
using matrix_runner = std::function<std::vector<any_array>(
    const std::vector<const any_array*>&,
    const std::function<std::vector<any_tensor>(const std::vector<any_tensor>&)>&)>;

/// Matrices of a batch.
struct matrices {
    template <class T> static matrices of(const any_array& a) {
        const int rank = a.rank();
        matrices r(a.extents()[rank - 2].size, a.extents()[rank - 1].size, 0);
        for (std::int64_t i = 0; i < a.elements(); ++i) r.values.push_back(element<T>(a, i));
        return r;
    }
    matrices(std::int64_t rows, std::int64_t columns, std::int64_t count) :
        m(rows), n(columns), values(static_cast<std::size_t>(rows * columns * count)) {}
    double& at(std::int64_t b, std::int64_t i, std::int64_t j) {
        return values[static_cast<std::size_t>((b * m + i) * n + j)];
    }
    double at(std::int64_t b, std::int64_t i, std::int64_t j) const { return const_cast<matrices&>(*this).at(b, i, j); }
    std::int64_t count() const { return m * n == 0 ? 0 : static_cast<std::int64_t>(values.size()) / (m * n); }
    /// f(matrix, row, column) gives each element.
    template <class F> static matrices tabulated(std::int64_t m, std::int64_t n, std::int64_t count, const F& f) {
        matrices r(m, n, count);
        for (std::int64_t b = 0; b < count; ++b)
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) r.at(b, i, j) = f(b, i, j);
        return r;
    }

    std::int64_t m, n;
    std::vector<double> values;
};

inline matrices transposed(const matrices& a) {
    return matrices::tabulated(a.n, a.m, a.count(), [&](auto b, auto i, auto j) { return a.at(b, j, i); });
}
inline matrices product(const matrices& x, const matrices& y) {
    return matrices::tabulated(x.m, y.n, x.count(), [&](auto b, auto i, auto j) {
        double sum = 0;
        for (std::int64_t k = 0; k < x.n; ++k) sum += x.at(b, i, k) * y.at(b, k, j);
        return sum;
    });
}
/// x with column j times s[j].
template <class T> matrices scaled(const matrices& x, const any_array& s) {
    return matrices::tabulated(x.m, x.n, x.count(),
                               [&](auto b, auto i, auto j) { return x.at(b, i, j) * element<T>(s, b * x.n + j); });
}
inline matrices unit(std::int64_t n, std::int64_t count) {
    return matrices::tabulated(n, n, count, [](auto, auto i, auto j) { return i == j ? 1.0 : 0.0; });
}
inline double distance(const matrices& x, const matrices& y) {
    REQUIRE(x.values.size() == y.values.size());
    double most = 0;
    for (std::size_t i = 0; i < x.values.size(); ++i) {
        const double d = std::fabs(x.values[i] - y.values[i]);
        if (!(d <= most)) most = d; // NaN too
    }
    return most;
}
/// How far columns are from orthonormal ones.
inline double skewness(const matrices& q) { return distance(product(transposed(q), q), unit(q.n, q.count())); }

/// l l^T = a, and systems of l, of any triangle and of any matrix are solved.
template <class T> void check_systems(const matrix_runner& run, std::int64_t n, std::int64_t columns) {
    INFO("n ", n);
    const any_array x = random_array<T>(extents(2, n, n), 5), b = random_array<T>(extents(2, n, columns), 9);
    const matrices wide = matrices::of<T>(x), right = matrices::of<T>(b), squared = product(wide, transposed(wide));
    any_array definite(x.element(), x.extents());
    for (std::int64_t i = 0; i < definite.elements(); ++i)
        definite.data<T>()[i] = static_cast<T>(squared.values[static_cast<std::size_t>(i)] +
                                               (i % (n * n) % (n + 1) == 0 ? static_cast<double>(n) : 0.0));
    const std::vector<any_array> got = run({&definite, &b}, [](const auto& in) {
        std::vector all{untyped::cholesky(in[0]), untyped::solve(in[0], in[1]), untyped::inverse(in[0])};
        for (const bool lower : {true, false})
            for (const bool turned : {false, true})
                all.push_back(untyped::triangular_solve(in[0], in[1], {lower, turned}));
        return all;
    });
    const double most = 60 * static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(n * n);
    const matrices a = matrices::of<T>(definite), l = matrices::of<T>(got[0]);
    CHECK(distance(product(l, transposed(l)), a) < most);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = i + 1; j < n; ++j) CHECK(l.at(1, i, j) == 0);
    CHECK(distance(product(a, matrices::of<T>(got[1])), right) < most);
    CHECK(distance(product(a, matrices::of<T>(got[2])), unit(n, 2)) < most);
    const matrices lower =
                       matrices::tabulated(n, n, 2, [&](auto k, auto i, auto j) { return j <= i ? a.at(k, i, j) : 0; }),
                   upper =
                       matrices::tabulated(n, n, 2, [&](auto k, auto i, auto j) { return j >= i ? a.at(k, i, j) : 0; });
    CHECK(distance(product(lower, matrices::of<T>(got[3])), right) < most);
    CHECK(distance(product(transposed(lower), matrices::of<T>(got[4])), right) < most);
    CHECK(distance(product(upper, matrices::of<T>(got[5])), right) < most);
    CHECK(distance(product(transposed(upper), matrices::of<T>(got[6])), right) < most);
}

/// q r and u diag(s) vt are the matrix, and their vectors orthonormal.
template <class T> void check_factors(const matrix_runner& run, std::int64_t m, std::int64_t n) {
    INFO(m, " x ", n);
    const any_array x = random_array<T>(extents(2, m, n), 11);
    const auto got = run({&x}, [](const auto& in) {
        std::vector<any_tensor> all = untyped::qr(in[0]);
        for (const any_tensor& t : untyped::svd(in[0])) all.push_back(t);
        all.push_back(untyped::singular_values(in[0]));
        return all;
    });
    const matrices a = matrices::of<T>(x), q = matrices::of<T>(got[0]), r = matrices::of<T>(got[1]),
                   u = matrices::of<T>(got[2]), vt = matrices::of<T>(got[4]);
    const double most =
        200 * static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(std::max(m, n));
    CHECK(distance(product(q, r), a) < most);
    CHECK(skewness(q) < most);
    for (std::int64_t i = 0; i < r.m; ++i)
        for (std::int64_t j = 0; j < std::min(i, n); ++j) CHECK(r.at(1, i, j) == 0);
    CHECK(distance(product(scaled<T>(u, got[3]), vt), a) < most);
    CHECK(skewness(u) < most);
    CHECK(skewness(transposed(vt)) < most);
    const std::int64_t k = std::min(m, n);
    for (std::int64_t i = 0; i < 2 * k; ++i) {
        CHECK(element<T>(got[3], i) >= 0);
        if (i % k > 0) CHECK(element<T>(got[3], i - 1) >= element<T>(got[3], i));
        CHECK(std::fabs(element<T>(got[3], i) - element<T>(got[5], i)) < most);
    }
}

/// v diag(w) v^T is the matrix's symmetric part.
template <class T> void check_eigenvectors(const matrix_runner& run, std::int64_t n) {
    INFO("n ", n);
    const any_array x = random_array<T>(extents(n, n), 13);
    const auto got = run({&x}, [](const auto& in) { return untyped::eigh(in[0]); });
    const matrices a = matrices::of<T>(x), v = matrices::of<T>(got[1]);
    const matrices s =
        matrices::tabulated(n, n, 1, [&](auto b, auto i, auto j) { return (a.at(b, i, j) + a.at(b, j, i)) / 2; });
    const double most = 200 * static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(n);
    CHECK(distance(product(scaled<T>(v, got[0]), transposed(v)), s) < most);
    CHECK(skewness(v) < most);
    for (std::int64_t i = 1; i < n; ++i) CHECK(element<T>(got[0], i - 1) <= element<T>(got[0], i));
}

/// Matrices without full rank, with equal values, of nothing but 0, and of large and small numbers.
inline void check_hard_decompositions(const matrix_runner& run) {
    // Rows 0 and 3 are equal, column 4 is 0; of rank 1; zeros; the unit matrix; 1e-170 and 1e170.
    any_array all = random_array<double>(extents(6, 6, 5), 7);
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
    const auto got = run({&all}, [](const auto& in) { return untyped::svd(in[0]); });
    const matrices a = matrices::of<double>(all), u = matrices::of<double>(got[0]), vt = matrices::of<double>(got[2]),
                   made = product(scaled<double>(u, got[1]), vt);
    CHECK(skewness(u) < 1e-13);
    CHECK(skewness(transposed(vt)) < 1e-13);
    for (std::int64_t b = 0; b < 6; ++b)
        for (std::int64_t i = 0; i < 6; ++i)
            for (std::int64_t j = 0; j < 5; ++j)
                CHECK(std::fabs(made.at(b, i, j) - a.at(b, i, j)) < 1e-13 * (b == 4 ? 1e-170 : b == 5 ? 1e170 : 1));
    any_array flat(element_type::float64, extents(7, 7));
    std::fill_n(flat.data<double>(), 49, 1.0);
    const auto values = run({&flat}, [](const auto& in) { return untyped::eigh(in[0]); });
    for (int i = 0; i < 7; ++i) CHECK(std::fabs(values[0].data<double>()[i] - (i == 6 ? 7 : 0)) < 1e-13);
    CHECK(skewness(matrices::of<double>(values[1])) < 1e-13);
}

/// A matrix for which there is no result is named, and the next steps are as if it had not been.
inline void check_refused_matrices(const std::string& device) {
    const std::vector<double> good = {4, 1, 0.5, 1, 5, -1, 0.5, -1, 3};
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    struct refused {
        std::vector<double> third; // of the batch [2, 2]
        std::function<any_tensor(const any_tensor&, called_from)> op;
        std::string words;
    };
    const std::string which = ": matrix [1, 0] of the batch [2, 2] ";
    const refused all[] = {
        {{1, 0, 0, 0, -1, 0, 0, 0, 1}, untyped::cholesky, "cholesky" + which + "is not positive definite"},
        {{1, nan, 0, 0, 0, 0, 0, 0, 1}, untyped::cholesky, "cholesky" + which + "is not positive definite"},
        {{1, 2, 3, 4, 5, 6, 7, 8, 9}, untyped::inverse, "inverse" + which + "is singular"},
        {{1, 2, 3, 2, 4, 6, 0, 0, 1},
         [](const any_tensor& a, called_from) { return untyped::solve(a, a); },
         "solve" + which + "is singular"},
        {{1, nan, 3, 2, 4, 6, 0, 0, 1},
         [](const any_tensor& a, called_from) { return untyped::solve(a, a); },
         "solve" + which + "is singular"},
        {{1, 0, 0, 0, 0, 0, 0, 0, 1},
         [](const any_tensor& a, called_from) { return untyped::triangular_solve(a, a); },
         "triangular_solve" + which + "has a 0 on its diagonal"},
        {{1, inf, 0, 0, 0, 0, 0, 0, 1}, untyped::singular_values, "svd" + which + "has elements that are not finite"},
        {{1, 0, 0, 0, 0, 0, nan, 0, 1},
         [](const any_tensor& a, called_from) { return untyped::eigh(a)[1]; },
         "eigh" + which + "has elements that are not finite"}};
    for (const refused& r : all) {
        INFO(r.words);
        const graph_scope scope{graph()};
        const any_tensor a = untyped::placeholder(element_type::float64, {2, 2, 3, 3}, "a");
        const any_tensor y = on(device_name(device), [&] { return r.op(a, caller()); });
        session s(graph::current());
        const auto run = [&](bool fails) {
            any_array value(element_type::float64, a.extents());
            for (std::int64_t i = 0; i < 36; ++i)
                value.data<double>()[i] = (fails && i / 9 == 2 ? r.third : good)[static_cast<std::size_t>(i % 9)];
            return std::move(s.run_untyped(fed(a, value), {y})[0]);
        };
        const std::string said = ::message_of<invalid_argument_error>([&] { run(true); });
        CHECK_MESSAGE(contains(said, r.words), said);
        CHECK_MESSAGE((device == "/cpu:0" || said.find("GPU:0") != std::string::npos), said);
        const any_array before = run(false);
        for (int i = 0; i < 3; ++i) CHECK(run(false) == before);
        CHECK(::message_of<invalid_argument_error>([&] { run(true); }) == said);
        CHECK(run(false) == before);
    }
}

} // namespace tenon::test
