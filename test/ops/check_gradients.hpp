#pragma once

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/graph/graph.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

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

/// An input of the function that is checked: its type's sizes S, its sizes in the run, its values.
template <class S> struct gradient_input {
    using shape = S;
    extents sizes;
    values drawn = values::usual;
    std::vector<double> given; ///< values to use instead
};

/// Sizes in the run, for shapes that do not say all of them.
template <Shape S, class... N> gradient_input<S> input(N... sizes) {
    gradient_input<S> in;
    if constexpr (sizeof...(N) > 0) in.sizes = extents(static_cast<std::int64_t>(sizes)...);
    else in.sizes = S::extents;
    return in;
}
template <class S> gradient_input<S> drawn(gradient_input<S> in, values how) {
    in.drawn = how;
    return in;
}
template <class S> gradient_input<S> given(gradient_input<S> in, std::vector<double> numbers) {
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

template <class S> any_array drawn_values(const gradient_input<S>& in, random_numbers& random) {
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

} // namespace detail

/// Empty when the gradients of `build(placeholders..)` with respect to all its inputs agree with central
/// differences, else a sentence that names the worst element. A result that is not a scalar is multiplied by
/// fixed random weights and summed up, so that every element of it counts.
template <class Build, class... S> std::string check_gradients(const Build& build, const gradient_input<S>&... inputs) {
    const graph_scope scope{graph()};
    auto xs = std::tuple(placeholder<double, S>()...);
    auto result = std::apply([&](const auto&... x) { return build(x...); }, xs);

    detail::random_numbers random{20240229};
    std::vector<fed_value> feeds;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (feeds.push_back({std::get<I>(xs), detail::drawn_values(inputs, random)}), ...);
    }
    (std::index_sequence_for<S...>{});

    session sess;
    any_tensor out = tenon::detail::as_tensor(result);
    if (out.element() != element_type::float64)
        return "the function's result is " + to_string(out.type()) + ", not double";
    // The weights are fed, since sizes may be known in the run only.
    const std::vector<any_array> plain = sess.run_untyped(
        [&] {
            std::vector<fed_value> f;
            for (const fed_value& v : feeds) f.push_back({v.tensor, v.value.share()});
            return f;
        }(),
        {out});
    any_tensor weights = untyped::placeholder(element_type::float64, out.extents());
    any_array w(element_type::float64, plain[0].extents());
    for (std::int64_t i = 0; i < w.elements(); ++i) w.data<double>()[i] = out.rank() == 0 ? 1 : 0.5 + random.next();
    const any_tensor weighted = tenon::detail::add_instruction(opcode::multiply, {out, weights});
    const any_tensor loss = weighted.rank() == 0 ? weighted : untyped::sum(weighted);

    std::vector<any_tensor> variables;
    std::apply([&](const auto&... x) { (variables.push_back(x), ...); }, xs);
    const std::vector<any_tensor> gradient = tenon::gradients(loss, variables);

    const auto run = [&](const std::vector<any_tensor>& fetched) {
        std::vector<fed_value> f;
        for (const fed_value& v : feeds) f.push_back({v.tensor, v.value.share()});
        f.push_back({weights, w.share()});
        return sess.run_untyped(std::move(f), fetched);
    };
    const std::vector<any_array> exact = run(gradient);

    double worst = 0;
    std::ostringstream message;
    message.precision(12);
    for (std::size_t k = 0; k < feeds.size(); ++k) {
        if (exact[k].extents() != feeds[k].value.extents())
            return "the gradient of input " + std::to_string(k) + " is " + to_string(exact[k].type()) + ", the input " +
                   to_string(feeds[k].value.type());
        double* x = feeds[k].value.template data<double>();
        for (std::int64_t i = 0; i < feeds[k].value.elements(); ++i) {
            const double at = x[i], h = 1e-6 * std::fmax(1.0, std::fabs(at));
            x[i] = at + h;
            const double above = run({loss})[0].template data<double>()[0];
            x[i] = at - h;
            const double below = run({loss})[0].template data<double>()[0];
            x[i] = at;
            const double wanted = (above - below) / (2 * h), found = exact[k].template data<double>()[i];
            // Rounding of the loss limits a difference to about 1e-16 / h.
            const double allowed = 1e-7 + 1e-6 * std::fabs(wanted) + 1e-9 * std::fabs(above);
            const double error =
                std::isfinite(found) && std::isfinite(wanted) ? std::fabs(found - wanted) / allowed : 1e300;
            if (error <= 1 || error <= worst) continue;
            worst = error;
            message.str("");
            message << "input " << k << " " << to_string(feeds[k].value.type()) << ", element " << i << ": gradient "
                    << found << ", central difference " << wanted;
        }
    }
    return message.str();
}

} // namespace tenon::test
