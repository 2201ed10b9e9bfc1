#include "tests.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using tn::any_array, tn::any_tensor, tn::shape, tn::extents;
using tn::test::random_array;

namespace {

template <class T> double tolerance() {
    return std::is_same_v<T, double>     ? 1e-13
           : std::is_same_v<T, float>    ? 2e-6
           : std::is_same_v<T, tn::half> ? 2e-3
                                         : 1.6e-2;
}

// layer_norm and its gradients, from the formulas in double.
template <class T> void check_layer_norm(const extents& sizes, double offset) {
    CAPTURE(tn::to_string(sizes));
    const std::int64_t n = sizes[sizes.rank() - 1].size, rows = n == 0 ? 0 : sizes.elements() / n;
    const double epsilon = 1e-3;
    const tn::graph_scope scope{tn::graph()};
    const auto type = tn::element_type_of<T>;
    const any_tensor x = tn::untyped::placeholder(type, sizes), dy = tn::untyped::placeholder(type, sizes);
    const any_tensor gamma = tn::untyped::placeholder(type, {n}), beta = tn::untyped::placeholder(type, {n});
    const any_tensor y = tn::untyped::layer_norm(x, gamma, beta, epsilon);
    const auto g = tn::detail::add_gradients({y}, {x, gamma, beta}, {dy});
    any_array ax = random_array<T>(sizes, 1);
    for (std::int64_t i = 0; i < ax.elements(); ++i)
        ax.data<T>()[i] = static_cast<T>(static_cast<double>(ax.data<T>()[i]) + offset);
    const any_array ady = random_array<T>(sizes, 2), ag = random_array<T>({n}, 3), ab = random_array<T>({n}, 4);
    tn::session s(tn::graph::current());
    const auto found = s.run_untyped(tn::test::fed(x, ax, dy, ady, gamma, ag, beta, ab), {y, g[0], g[1], g[2]});

    const auto value = [](const any_array& a, std::int64_t i) { return static_cast<double>(a.data<T>()[i]); };
    std::vector<double> wy, wdx, wdg(static_cast<std::size_t>(n)), wdb(wdg);
    for (std::int64_t r = 0; r < rows; ++r) {
        double m = 0, v = 0, mh = 0, mhz = 0;
        for (std::int64_t c = 0; c < n; ++c) m += value(ax, r * n + c) / static_cast<double>(n);
        for (std::int64_t c = 0; c < n; ++c) v += std::pow(value(ax, r * n + c) - m, 2) / static_cast<double>(n);
        const double f = 1 / std::sqrt(v + epsilon);
        const auto z = [&](std::int64_t c) { return (value(ax, r * n + c) - m) * f; };
        const auto h = [&](std::int64_t c) { return value(ady, r * n + c) * value(ag, c); };
        for (std::int64_t c = 0; c < n; ++c) {
            wy.push_back(z(c) * value(ag, c) + value(ab, c));
            wdg[static_cast<std::size_t>(c)] += value(ady, r * n + c) * z(c);
            wdb[static_cast<std::size_t>(c)] += value(ady, r * n + c);
            mh += h(c) / static_cast<double>(n);
            mhz += h(c) * z(c) / static_cast<double>(n);
        }
        for (std::int64_t c = 0; c < n; ++c) wdx.push_back(f * (h(c) - mh - z(c) * mhz));
    }
    const auto check = [&](const any_array& a, const std::vector<double>& wanted, double scale) {
        REQUIRE(a.elements() == static_cast<std::int64_t>(wanted.size()));
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const double found_value = value(a, static_cast<std::int64_t>(i));
            INFO(i << ": " << found_value << " instead of " << wanted[i]);
            CHECK(std::fabs(found_value - wanted[i]) <= tolerance<T>() * (std::fabs(wanted[i]) + scale));
        }
    };
    const double conditioning = 1 + std::fabs(offset); // of x - m
    check(found[0], wy, 3 * conditioning);
    check(found[1], wdx, 20 * conditioning);
    check(found[2], wdg, 10 * conditioning * std::sqrt(static_cast<double>(rows + 1)));
    check(found[3], wdb, 10 * std::sqrt(static_cast<double>(rows + 1)));
}

} // namespace

TEST_CASE_TEMPLATE("layer_norm and its gradients are the formulas", T, float, double, tn::half, tn::bfloat16) {
    for_each_isa([&] {
        for (const extents& sizes :
             {extents{5}, extents{3, 16}, extents{70, 17}, extents{2, 3, 100}, extents{600, 3}, extents{0, 4}})
            check_layer_norm<T>(sizes, 0);
    });
    check_layer_norm<T>({4, 33}, sizeof(T) == 2 ? 4 : 1000); // the mean is taken away before squares are
}

TEST_CASE_FIXTURE(in_graph, "operands that do not fit are refused with the rule's words") {
    const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {4, 6});
    const any_tensor six = tn::untyped::placeholder(tn::element_type::float32, {6}),
                     five = tn::untyped::placeholder(tn::element_type::float32, {5});
    CHECK_NOTHROW(tn::untyped::layer_norm(x, six, six));
    CHECK_ERROR(tn::invalid_argument_error, "layer_norm: sizes differ: [4, 6] x [6] x [5]",
                tn::untyped::layer_norm(x, six, five));
    CHECK_THROWS_AS(tn::untyped::layer_norm(x, x, six), tn::invalid_argument_error);
}
