#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "central_differences.hpp"

/// Checks that tenon::gradients agrees with central differences, in float64.
///
///     CHECK(check_gradients([](auto a, auto b) { return sum(matmul(a, b)); },
///                           input<shape<2, 3>>(), input<shape<3, dyn>>(3, 4)) == "");

namespace tenon::test {

/// How the values of an input are drawn.
enum class values {
    usual,    ///< -2 .. 2
    distinct, ///< -2 .. 2, each at least 1e-3 from any other: for min, max, sorting
    positive, ///< 0.5 .. 2
};

/// An input whose type is known at run time: its sizes in the run, its values.
struct untyped_input {
    extents sizes;
    values drawn = values::usual;
    std::vector<double> given = {}; ///< values to use instead
};

/// An input of the function that is checked, whose type has the sizes S.
template <class S> struct gradient_input : untyped_input { using shape = S; };

/// Sizes in the run, for shapes that do not say all of them.
template <Shape S, class... N> gradient_input<S> input(N... sizes) {
    if constexpr (sizeof...(N) > 0) return {{extents(static_cast<std::int64_t>(sizes)...)}};
    else return {{S::extents}};
}
template <class In> In drawn(In in, values how) {
    in.drawn = how;
    return in;
}
template <class In> In given(In in, std::vector<double> numbers) {
    in.given = std::move(numbers);
    return in;
}

namespace detail {

// Reproducible numbers in [0, 1): splitmix64 (Steele, Lea, Flood 2014).
struct random_numbers {
    std::uint64_t state;
    double next() {
        std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
    }
};

inline any_array drawn_values(const untyped_input& in, random_numbers& random) {
    any_array a(element_type::float64, in.sizes);
    double* p = a.data<double>();
    const std::int64_t n = a.elements();
    for (std::int64_t i = 0; i < n; ++i) {
        if (!in.given.empty()) p[i] = in.given[static_cast<std::size_t>(i)];
        else if (in.drawn == values::positive) p[i] = 0.5 + 1.5 * random.next();
        else if (in.drawn == values::usual) p[i] = 4 * random.next() - 2;
        else p[i] = 4 * (static_cast<double>(i) + 0.5 + 0.2 * random.next()) / static_cast<double>(n) - 2;
    }
    if (in.given.empty() && in.drawn == values::distinct)
        for (std::int64_t i = n - 1; i > 0; --i)
            std::swap(p[i], p[static_cast<std::int64_t>(random.next() * static_cast<double>(i + 1))]);
    return a;
}

/// Of what was built in the graph in scope.
inline std::string check_built(const any_tensor& result, const std::vector<any_tensor>& xs,
                               const std::vector<untyped_input>& inputs) {
    if (result.element() != element_type::float64)
        return "the function's result is " + to_string(result.type()) + ", not double";
    random_numbers random{20240229};
    std::vector<fed_value> feeds;
    for (std::size_t i = 0; i < xs.size(); ++i) feeds.push_back({xs[i], drawn_values(inputs[i], random)});
    session s;
    return compare_slopes(s, feeds, {result}, xs).defect;
}

} // namespace detail

/// Empty when the gradients of `build(placeholders..)` with respect to all its inputs agree with central
/// differences, else a sentence that names the worst element. A result that is not a scalar is multiplied by
/// weights and summed up, so that every element of it counts.
template <class Build, class... S> std::string check_gradients(const Build& build, const gradient_input<S>&... inputs) {
    const graph_scope scope{graph()};
    const auto check = [&](const tensor<double, S>&... x) {
        return detail::check_built(tenon::detail::as_tensor(build(x...)), {x...}, {inputs...});
    };
    return check(placeholder<double, S>()...);
}

/// The same of functions of untyped tensors.
inline std::string check_untyped_gradients(const std::function<any_tensor(const std::vector<any_tensor>&)>& build,
                                           const std::vector<untyped_input>& inputs) {
    const graph_scope scope{graph()};
    std::vector<any_tensor> xs;
    for (const untyped_input& in : inputs) xs.push_back(untyped::placeholder(element_type::float64, in.sizes));
    return detail::check_built(build(xs), xs, inputs);
}

} // namespace tenon::test
