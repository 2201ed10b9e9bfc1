#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

/// Products of matrices on a device, and their formula in float64.

namespace matmul_test {

namespace tn = tenon;
using tn::any_array;
using tn::any_tensor;
using tn::element_type;
using tn::extents;

inline std::uint64_t fresh_seed() { return (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}(); }

/// Numbers of -2 .. 2 that half has exactly; integers of all sizes, whose products wrap around, the ends of their range often.
template <class T> any_array random_array(const extents& sizes, std::mt19937_64& random) {
    any_array a(tn::element_type_of<T>, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        if constexpr (std::is_integral_v<T>) {
            const std::uint64_t bits = random();
            a.data<T>()[i] = bits % 3 == 0   ? std::numeric_limits<T>::min()
                             : bits % 3 == 1 ? std::numeric_limits<T>::max()
                                             : static_cast<T>(bits >> 16);
        } else a.data<T>()[i] = static_cast<T>(static_cast<float>(static_cast<int>(random() % 257) - 128) / 64.0F);
    }
    return a;
}

struct product {
    extents a, b;
    bool transpose_a = false, transpose_b = false;
    bool bias = false, relu = false;
};
inline std::string text_of(const product& p) {
    return to_string(p.a) + (p.transpose_a ? "' x " : " x ") + to_string(p.b) + (p.transpose_b ? "'" : "") +
           (p.bias ? " + bias" : "") + (p.relu ? ", relu" : "");
}
inline std::int64_t from_end(const extents& e, int k) { return k <= e.rank() ? e[e.rank() - k].size : 1; }
inline std::int64_t inner_size(const product& p) { return from_end(p.a, p.transpose_a ? 2 : 1); }

/// The elements of a product of T.
template <class T> using product_t = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, T>;

/// c by its formula, and of each element how far a sum in T may be from it.
struct expected {
    extents sizes; // [batch..., m, n]
    std::vector<double> values, bounds;
    std::vector<std::uint64_t> wrapped; // of integers
};
template <class T>
expected by_formula(const product& p, const any_array& a, const any_array& b, const any_array* bias) {
    expected e;
    const int batches = std::max(std::max(p.a.rank(), p.b.rank()) - 2, 0);
    for (int i = batches; i > 0; --i) {
        const std::int64_t x = from_end(p.a, i + 2), y = from_end(p.b, i + 2);
        e.sizes.push_back(x == 1 ? y : x);
    }
    const bool row = p.a.rank() == 1, column = p.b.rank() == 1;
    const std::int64_t m = row ? 1 : from_end(p.a, p.transpose_a ? 1 : 2), k = inner_size(p);
    const std::int64_t n = column ? 1 : from_end(p.b, p.transpose_b ? 2 : 1);
    e.sizes.push_back(m);
    e.sizes.push_back(n);
    // Where element (y, x) of the matrix at `batch` lies; a dimension of 1 is repeated.
    const auto place = [&](const extents& of, const std::vector<std::int64_t>& batch, std::int64_t y, std::int64_t x) {
        std::int64_t at = 0;
        for (int i = 0; i + 2 < of.rank(); ++i) {
            const auto d = static_cast<std::size_t>(i + batches + 2 - of.rank());
            at = at * of[i].size + (of[i].size == 1 ? 0 : batch[d]);
        }
        return (at * from_end(of, 2) + y) * from_end(of, 1) + x;
    };
    const double rounding = std::is_same_v<T, double>         ? 0x1p-53
                            : std::is_same_v<T, tn::half>     ? 0x1p-11
                            : std::is_same_v<T, tn::bfloat16> ? 0x1p-8
                                                              : 0x1p-24;
    const double summing = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
    for (std::int64_t at = 0; at < e.sizes.elements(); ++at) {
        std::vector<std::int64_t> batch(static_cast<std::size_t>(batches));
        std::int64_t rest = at / (m * n);
        for (int i = batches; i-- > 0; rest /= e.sizes[i].size)
            batch[static_cast<std::size_t>(i)] = rest % e.sizes[i].size;
        const std::int64_t i = at / n % m, j = at % n;
        const double added = bias ? static_cast<double>(bias->data<product_t<T>>()[j]) : 0;
        double sum = added, size = std::fabs(sum);
        std::uint64_t wrapped = 0;
        if constexpr (std::is_integral_v<T>)
            wrapped = bias ? static_cast<std::uint64_t>(bias->data<product_t<T>>()[j]) : 0;
        for (std::int64_t l = 0; l < k; ++l) {
            const T x = a.data<T>()[row ? l : p.transpose_a ? place(p.a, batch, l, i) : place(p.a, batch, i, l)];
            const T y = b.data<T>()[column ? l : p.transpose_b ? place(p.b, batch, j, l) : place(p.b, batch, l, j)];
            if constexpr (std::is_integral_v<T>)
                wrapped += static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
            sum += static_cast<double>(x) * static_cast<double>(y);
            size += std::fabs(static_cast<double>(x) * static_cast<double>(y));
        }
        const double product =
            std::fabs(sum - added); // is rounded before the bias is added, where cuBLASLt does not do that
        if (p.relu) {
            sum = std::fmax(sum, 0.0);
            if constexpr (std::is_integral_v<T>) wrapped = static_cast<product_t<T>>(wrapped) < 0 ? 0 : wrapped;
        }
        e.values.push_back(sum);
        e.bounds.push_back(static_cast<double>(k + 2) * summing * size +
                           rounding * (2 * std::fabs(sum) + (sizeof(T) == 2 ? product : 0)));
        e.wrapped.push_back(wrapped);
    }
    return e;
}

/// The first element of c that is not what it should be.
template <class T> std::string difference(const T* c, const expected& e) {
    for (std::size_t i = 0; i < e.values.size(); ++i) {
        if constexpr (std::is_integral_v<T>) {
            if (c[i] == static_cast<T>(e.wrapped[i])) continue;
            return "element " + std::to_string(i) + " is " + std::to_string(c[i]) + ", not " +
                   std::to_string(static_cast<T>(e.wrapped[i]));
        } else {
            if (std::fabs(static_cast<double>(c[i]) - e.values[i]) <= e.bounds[i]) continue; // not so of NaN
            return "element " + std::to_string(i) + " is " + std::to_string(static_cast<double>(c[i])) + ", not " +
                   std::to_string(e.values[i]);
        }
    }
    return "";
}

/// A product on a device, with sizes that the graph does not know.
struct product_graph {
    product_graph(const char* device, const product& p, element_type e) {
        const auto unknown = [](element_type of, int rank) {
            extents sizes;
            for (int i = 0; i < rank; ++i) sizes.push_back({});
            return tn::untyped::placeholder(of, sizes);
        };
        const tn::graph_scope scope(g);
        a = unknown(e, p.a.rank());
        b = unknown(e, p.b.rank());
        if (p.bias) bias = unknown(e == element_type::int8 ? element_type::int32 : e, 1);
        c = tn::on(tn::device_name(std::string(device)), [&] {
            if (!p.bias) return tn::untyped::matmul(a, b, p.transpose_a, p.transpose_b);
            if (e != element_type::int8)
                return tn::untyped::matmul_bias(a, b, bias, p.relu, p.transpose_a, p.transpose_b);
            const any_tensor y = tn::untyped::add(tn::untyped::matmul(a, b, p.transpose_a, p.transpose_b), bias);
            return p.relu ? tn::untyped::relu(y) : y;
        });
    }
    any_array run(tn::session& s, const any_array& x, const any_array& y, const any_array* z) const {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({a, x.share()});
        feeds.push_back({b, y.share()});
        if (z) feeds.push_back({bias, z->share()});
        return std::move(s.run_untyped(std::move(feeds), {c})[0]);
    }
    tn::graph g;
    any_tensor a, b, bias, c;
};

/// "" where the product of random operands is its formula.
template <class T>
std::string check_product(const char* device, const product& p, std::mt19937_64& random,
                          const tn::session_options& o = {}) {
    const any_array a = random_array<T>(p.a, random), b = random_array<T>(p.b, random);
    std::optional<any_array> bias;
    if (p.bias) bias = random_array<product_t<T>>(extents(from_end(p.b, p.transpose_b ? 2 : 1)), random);
    const product_graph g(device, p, tn::element_type_of<T>);
    tn::session s(g.g, o);
    const any_array c = g.run(s, a, b, bias ? &*bias : nullptr);
    const expected e = by_formula<T>(p, a, b, bias ? &*bias : nullptr);
    if (c.element() != tn::element_type_of<product_t<T>> || c.elements() != e.sizes.elements())
        return text_of(p) + ": the result is " + to_string(c.type()) + ", not " + to_string(e.sizes);
    const std::string different = difference(c.data<product_t<T>>(), e);
    return different.empty() ? "" : text_of(p) + " of " + name_of(tn::element_type_of<T>) + ": " + different;
}

/// All combinations of transposes and epilogues for matrices of these sizes.
inline std::vector<product> matrix_products(std::int64_t m, std::int64_t n, std::int64_t k) {
    std::vector<product> all;
    for (const bool ta : {false, true})
        for (const bool tb : {false, true})
            for (const int epilogue : {0, 1, 2})
                all.push_back({ta ? extents(k, m) : extents(m, k), tb ? extents(n, k) : extents(k, n), ta, tb,
                               epilogue > 0, epilogue > 1});
    return all;
}

/// Batches whose dimensions both operands have, or repeat, in many ways.
inline std::vector<product> batch_products() {
    return {
        {extents(3, 4, 5), extents(3, 5, 6)},
        {extents(3, 4, 5), extents(5, 6)},
        {extents(4, 5), extents(3, 5, 6)},
        {extents(2, 3, 4, 5), extents(3, 5, 6)},
        {extents(2, 1, 4, 5), extents(1, 3, 5, 6)},
        {extents(2, 1, 3, 4, 5), extents(2, 5, 1, 5, 6)},
        {extents(1, 3, 1, 4, 5), extents(2, 1, 5, 5, 6)},
        {extents(3, 5, 4), extents(5, 6), true},
        {extents(3, 5, 4), extents(3, 6, 5), true, true},
        {extents(2, 3, 4, 5), extents(2, 1, 6, 5), false, true, true, true},
        {extents(3, 4, 5), extents(5, 6), false, false, true},
        {extents(3, 5, 4), extents(1, 5, 6), true, false, true},
        {extents(7), extents(7)},
        {extents(7), extents(7, 5)},
        {extents(4, 7), extents(7)},
        {extents(3, 4, 7), extents(7)},
        {extents(7), extents(3, 7, 5)},
        {extents(7), extents(7, 5), false, false, true, true},
    };
}

inline std::vector<product> empty_products() {
    return {
        {extents(0, 5), extents(5, 6)},
        {extents(4, 5), extents(5, 0)},
        {extents(4, 0), extents(0, 6)},
        {extents(4, 0), extents(0, 6), false, false, true},
        {extents(4, 0), extents(0, 6), false, false, true, true},
        {extents(0, 4), extents(6, 0), true, true},
        {extents(0, 4, 5), extents(0, 5, 6)},
        {extents(3, 4, 0), extents(0, 6)},
        {extents(0), extents(0)},
    };
}

} // namespace matmul_test
