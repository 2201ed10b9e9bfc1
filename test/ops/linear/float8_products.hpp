#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <tenon/core/array/any_array.hpp>

/// Products of operands of 8 bits by their formula in float64, with numbers of 8 bits from their list.

namespace float8_test {

/// Numbers of a normal distribution of this deviation.
template <class T> tenon::any_array drawn(const tenon::extents& sizes, std::mt19937_64& random, float deviation = 1) {
    tenon::any_array a(tenon::element_type_of<T>, sizes);
    std::normal_distribution<float> normal(0, deviation);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<T>()[i] = static_cast<T>(normal(random));
    return a;
}

/// All that are finite and not negative, in the order of their bits.
inline const std::vector<double>& numbers_of(bool e4m3) {
    const auto list = [](int exponents, int fractions, int bias, int left_out) {
        std::vector<double> all;
        for (int e = 0; e < exponents; ++e)
            for (int f = 0; f < fractions; ++f)
                all.push_back(e == 0 ? std::ldexp(double(f) / fractions, 1 - bias)
                                     : std::ldexp(1 + double(f) / fractions, e - bias));
        all.resize(all.size() - static_cast<std::size_t>(left_out));
        return all;
    };
    static const std::vector<double> of_e4m3 = list(16, 8, 7, 1), of_e5m2 = list(31, 4, 15, 0);
    return e4m3 ? of_e4m3 : of_e5m2;
}

inline double nearest(bool e4m3, double x) {
    const std::vector<double>& all = numbers_of(e4m3);
    const double size = std::fabs(x);
    const auto above = std::lower_bound(all.begin(), all.end(), size);
    if (std::isnan(x)) return x;
    double y = all.back();
    if (above == all.begin()) y = *above;
    else if (above != all.end()) {
        const double up = *above - size, down = size - above[-1];
        const bool above_is_even = (above - all.begin()) % 2 == 0;
        y = up < down || (up == down && above_is_even) ? *above : above[-1];
    }
    return std::copysign(y, x);
}

/// The elements of a tensor as its products see them.
template <class T> std::vector<double> rounded(const tenon::any_array& a, bool e4m3) {
    float most = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i)
        most = std::fmax(most, std::fabs(static_cast<float>(a.data<T>()[i])));
    const float scale = std::fmin(static_cast<float>(numbers_of(e4m3).back()) / most, 0x1p126F);
    std::vector<double> all;
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const float scaled = static_cast<float>(a.data<T>()[i]) * scale;
        all.push_back(nearest(e4m3, static_cast<double>(scaled)) / static_cast<double>(scale));
    }
    return all;
}

/// c[i, j] = sum over l of a[i, l] b[l, j], of which `a_at` and `b_at` say where they lie; and the sum of the sizes of what is added.
struct expected_product {
    std::vector<double> values, sizes;
};
template <class AtA, class AtB>
expected_product product(const std::vector<double>& a, const std::vector<double>& b, std::int64_t m, std::int64_t n,
                         std::int64_t k, AtA a_at, AtB b_at) {
    expected_product e;
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0, size = 0;
            for (std::int64_t l = 0; l < k; ++l) {
                const double p = a[static_cast<std::size_t>(a_at(i, l))] * b[static_cast<std::size_t>(b_at(l, j))];
                sum += p;
                size += std::fabs(p);
            }
            e.values.push_back(sum);
            e.sizes.push_back(size);
        }
    return e;
}

/// Whether all elements are what is expected but for sums in float and one rounding to T.
template <class T> bool is_near(const tenon::any_array& c, const expected_product& e, std::int64_t k) {
    if (c.elements() != static_cast<std::int64_t>(e.values.size())) return false;
    const double rounding = sizeof(T) == 4 ? 0x1p-24 : std::is_same_v<T, tenon::half> ? 0x1p-11 : 0x1p-8;
    for (std::size_t i = 0; i < e.values.size(); ++i) {
        const double off =
            std::fabs(static_cast<double>(static_cast<float>(c.data<T>()[static_cast<std::int64_t>(i)])) - e.values[i]);
        const double smallest = std::is_same_v<T, tenon::half> ? 0x1p-25 : 0x1p-149;
        if (!(off <=
              static_cast<double>(k + 4) * 0x1p-24 * e.sizes[i] + 1.01 * rounding * std::fabs(e.values[i]) + smallest))
            return false;
    }
    return true;
}

} // namespace float8_test
