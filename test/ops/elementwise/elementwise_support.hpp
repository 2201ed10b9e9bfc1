#pragma once

#include "tests.hpp"
#include "../random/random_arrays.hpp"
#include "../untyped_run.hpp"

/// What the tests of elementwise functions share: running them, and holding them against functions of one number.

namespace elementwise_test {

using namespace tenon;
using test::fed;

inline constexpr struct batch_size : dim<"batch"> {} batch;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline const double not_a_number = std::nan("");

template <class T> any_array numbers(const extents& sizes, const std::vector<double>& values) {
    any_array a(element_type_of<T>, sizes);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if constexpr (std::is_same_v<T, bool>) a.data<T>()[i] = values[i] != 0;
        else if constexpr (std::is_integral_v<T>) a.data<T>()[i] = static_cast<T>(values[i]);
        else a.data<T>()[i] = static_cast<T>(static_cast<float>(values[i]));
    }
    return a;
}
template <> inline any_array numbers<double>(const extents& sizes, const std::vector<double>& values) {
    return test::array_of(sizes, values);
}

/// What `expression` gives when `values` are fed, in double.
template <class E> std::vector<double> run(const E& expression, std::vector<fed_value> values) {
    const auto t = detail::as_tensor(expression);
    session s{graph(t.node()->graph)};
    const any_array a = std::move(s.run_untyped(std::move(values), {t})[0]);
    std::vector<double> result;
    using T = typename E::element_type;
    for (std::int64_t i = 0; i < a.elements(); ++i) result.push_back(test::element<T>(a, i));
    return result;
}

inline bool near(double got, double want, double tolerance) {
    if (std::isnan(want)) return std::isnan(got);
    if (std::isinf(want)) return got == want;
    return std::fabs(got - want) <= tolerance * std::fabs(want) + tolerance * 1e-3;
}

/// What t is, in double, when `values` are fed.
inline std::vector<double> run_untyped(const any_tensor& t, std::vector<fed_value> values) {
    session s{graph(t.node()->graph)};
    const std::vector<any_array> a = s.run_untyped(std::move(values), {untyped::cast(t, element_type::float64)});
    return {a[0].data<double>(), a[0].data<double>() + a[0].elements()};
}

/// f of a float and of a double tensor is `scalar` of each element. That the typed function of the name is the same is for twins.
inline void unary(const char* name, any_tensor (*f)(const any_tensor&), double (*scalar)(double),
                  const std::vector<double>& at) {
    INFO(name);
    const graph_scope scope{graph()};
    const extents sizes(static_cast<std::int64_t>(at.size()));
    const any_tensor x = untyped::placeholder(element_type::float32, extents(extent{})),
                     d = untyped::placeholder(element_type::float64, extents(extent{}));
    const auto of_float = run_untyped(f(x), fed(x, numbers<float>(sizes, at)));
    const auto of_double = run_untyped(f(d), fed(d, numbers<double>(sizes, at)));
    for (std::size_t i = 0; i < at.size(); ++i) {
        INFO("at ", at[i]);
        CHECK(near(of_double[i], scalar(at[i]), 2e-15 * 8));
        CHECK(near(of_float[i], scalar(static_cast<double>(static_cast<float>(at[i]))), 1e-6));
    }
}
inline void binary(const char* name, any_tensor (*f)(const any_tensor&, const any_tensor&),
                   double (*scalar)(double, double), const std::vector<double>& as, const std::vector<double>& bs) {
    INFO(name);
    const graph_scope scope{graph()};
    // Every pair, by broadcasting a column and a row.
    const auto rows = static_cast<std::int64_t>(as.size()), cols = static_cast<std::int64_t>(bs.size());
    const any_tensor a = untyped::placeholder(element_type::float64, extents(extent{}, 1)),
                     b = untyped::placeholder(element_type::float64, extents(extent{}));
    const auto got =
        run_untyped(f(a, b), fed(a, numbers<double>(extents(rows, 1), as), b, numbers<double>(extents(cols), bs)));
    for (std::size_t i = 0; i < as.size(); ++i)
        for (std::size_t j = 0; j < bs.size(); ++j) {
            INFO("at ", as[i], ", ", bs[j]);
            CHECK(near(got[i * bs.size() + j], scalar(as[i], bs[j]), 2e-14));
        }
}

inline const std::vector<double> usual{-2.5, -1, -0.3, 0, 1e-3, 0.25, 0.5, 1, 1.75, 3};
inline const std::vector<double> positive{1e-3, 0.25, 0.5, 1, 1.75, 3, 40};
inline const std::vector<double> special{-infinity, -1, -0.0, 0, 2, infinity, not_a_number};

#define UNTYPED(f) [](const any_tensor& x) { return untyped::f(x); }
#define UNTYPED2(f) [](const any_tensor& x, const any_tensor& y) { return untyped::f(x, y); }

} // namespace elementwise_test
