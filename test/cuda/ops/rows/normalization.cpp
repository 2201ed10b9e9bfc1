// Layer normalisation on a GPU against its formulas in float64.

#include <doctest/doctest.h>

#include <tenon/ops/gradients.hpp>
#include <tenon/ops/rows/normalization.hpp>

#include "../random/drawn_numbers.hpp"

using namespace tenon;
using test::array_of;
using test::difference;
using test::drawn_numbers;
using test::number_at;
using test::run_on_gpu;
using test::same_bits;
using test::spacing;

namespace {

double computed(element_type e) { return e == element_type::float64 ? 0x1p-52 : 0x1p-23; }

} // namespace

TEST_CASE_TEMPLATE("GPU: layer_norm and its gradients, through the graph; the same in every run", T, float, double,
                   half, bfloat16) {
    drawn_numbers draw;
    const double epsilon = 1e-3;
    // Rows that fit into the registers of one thread, a warp, a block, and none; more rows than blocks take at once.
    for (const extents& shape :
         {extents(3, 1), extents(2, 3, 5), extents(70, 64), extents(5000, 8), extents(3, 1001), extents(40, 2050),
          extents(300, 4104), extents(3, 8300), extents(2, 12000), extents(0, 5), extents(9)}) {
        CAPTURE(to_string(shape));
        const std::int64_t n = shape[shape.rank() - 1].size, rows = n == 0 ? 0 : shape.elements() / n;
        const auto some = [&](std::int64_t) { return 3 + draw(-2, 2); };
        const auto few = [&](std::int64_t) { return draw(-1, 1); };
        const any_array x = array_of<T>(shape, some), gamma = array_of<T>(extents(n), few),
                        beta = array_of<T>(extents(n), few), dy = array_of<T>(shape, few);
        const auto run = [&] {
            return run_on_gpu({&x, &gamma, &beta, &dy}, [&](const auto& in) {
                const any_tensor y = untyped::layer_norm(in[0], in[1], in[2], epsilon);
                std::vector<any_tensor> out{y, any_tensor({y.node(), 1}), any_tensor({y.node(), 2})};
                for (const any_tensor& d : detail::add_gradients({y}, {in[0], in[1], in[2]}, {in[3]})) out.push_back(d);
                return out;
            });
        };
        const std::vector<any_array> out = run();
        std::vector<double> y, means, factors, dx, dgamma(static_cast<std::size_t>(n)), dbeta(dgamma.size()),
            dgamma_scale(dgamma.size()), dx_scale;
        for (std::int64_t r = 0; r < rows; ++r) {
            long double mean = 0, variance = 0, h = 0, hz = 0;
            for (std::int64_t c = 0; c < n; ++c) mean += number_at(x, r * n + c) / static_cast<long double>(n);
            for (std::int64_t c = 0; c < n; ++c)
                variance +=
                    (number_at(x, r * n + c) - mean) * (number_at(x, r * n + c) - mean) / static_cast<long double>(n);
            const auto f = static_cast<double>(1 / std::sqrt(variance + epsilon));
            means.push_back(static_cast<double>(mean));
            factors.push_back(f);
            const auto z = [&](std::int64_t c) { return static_cast<double>((number_at(x, r * n + c) - mean) * f); };
            for (std::int64_t c = 0; c < n; ++c) {
                const double d = number_at(dy, r * n + c);
                const auto k = static_cast<std::size_t>(c);
                y.push_back(z(c) * number_at(gamma, c) + number_at(beta, c));
                h += d * number_at(gamma, c) / static_cast<long double>(n);
                hz += d * number_at(gamma, c) * z(c) / static_cast<long double>(n);
                dgamma[k] += d * z(c);
                dgamma_scale[k] += std::fabs(d) * (std::fabs(z(c)) + 5 * f);
                dbeta[k] += d;
            }
            for (std::int64_t c = 0; c < n; ++c) {
                dx.push_back(static_cast<double>(f * (number_at(dy, r * n + c) * number_at(gamma, c) - h - z(c) * hz)));
                dx_scale.push_back(f * (2 + std::fabs(z(c)) + 5 * f));
            }
        }
        const element_type e = x.element();
        const double unit = computed(e), own = 0.51 * spacing(e);
        const auto at = [](const std::vector<double>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
        CHECK(difference(out[1], means, [&](std::int64_t) { return 20 * unit; }) == "");
        CHECK(difference(out[2], factors, [&](std::int64_t i) { return 20 * unit * at(factors, i); }) == "");
        CHECK(difference(out[0], y, [&](std::int64_t i) {
                  return 20 * unit * (1 + 5 * at(factors, i / n)) + own * std::fabs(at(y, i));
              }) == "");
        CHECK(difference(out[3], dx, [&](std::int64_t i) {
                  return 20 * unit * at(dx_scale, i) + own * std::fabs(at(dx, i)) + (sizeof(T) == 2 ? 1e-7 : 0);
              }) == "");
        CHECK(difference(out[4], dgamma, [&](std::int64_t i) {
                  return 10 * unit * at(dgamma_scale, i) + own * std::fabs(at(dgamma, i)) + (sizeof(T) == 2 ? 1e-7 : 0);
              }) == "");
        CHECK(difference(out[5], dbeta, [&](std::int64_t i) {
                  return 10 * unit * static_cast<double>(rows) + own * std::fabs(at(dbeta, i)) +
                         (sizeof(T) == 2 ? 1e-7 : 0);
              }) == "");
        const std::vector<any_array> again = run();
        for (std::size_t i = 0; i < out.size(); ++i) CHECK(same_bits(out[i], again[i]));
    }
}

TEST_CASE("GPU: the gradient of gamma alone needs no more than it") {
    drawn_numbers draw;
    const any_array x = array_of<float>(extents(30, 100), [&](std::int64_t) { return draw(-1, 1); });
    const any_array ones = array_of<float>(extents(100), [](std::int64_t) { return 1; });
    const auto gradients = [&](std::vector<int> of) {
        return run_on_gpu({&x, &ones}, [&](const auto& in) {
            const any_tensor y = untyped::layer_norm(in[0], in[1], in[1]);
            std::vector<any_tensor> out;
            node* n = add_node(definition_of<layer_norm_gradient_op>(),
                               {in[0], in[1], in[0], any_tensor({y.node(), 1}), any_tensor({y.node(), 2})},
                               encode(layer_norm_op::attributes{}));
            for (const int i : of) out.push_back(any_tensor({n, i}));
            return out;
        });
    };
    const auto all = gradients({0, 1, 2});
    for (int i = 0; i < 3; ++i) CHECK(same_bits(gradients({i})[0], all[static_cast<std::size_t>(i)]));
}
