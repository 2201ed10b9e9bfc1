// Layer normalisation on a GPU beside the host, which computes in double.

#include <cuda/kernels/rows/layer_norm.hpp>

#include "tests.hpp"
#include "device_array.hpp"
#include "../both_devices.hpp"
#include "../random/drawn_numbers.hpp"

using namespace tenon;
using namespace test;

TEST_CASE("GPU: layer_norm and its gradients, through the graph; the same in every run") {
    drawn_numbers draw;
    const auto some = [&](std::int64_t) { return 3 + draw(-2, 2); };
    const auto few = [&](std::int64_t) { return draw(-1, 1); };
    for (const element_type e : test::floating_types)
        // Rows that fit into the registers of one thread, a warp, a block, and none; more rows than blocks take at once.
        for (const extents& shape :
             {extents(3, 1), extents(2, 3, 5), extents(70, 64), extents(5000, 8), extents(3, 1001), extents(40, 2050),
              extents(300, 4104), extents(3, 8300), extents(2, 12000), extents(0, 5), extents(9)}) {
            INFO(std::string(name_of(e)), " ", to_string(shape));
            const extents row{shape[shape.rank() - 1].size};
            const any_array x = array_of(e, shape, some), gamma = array_of(e, row, few), beta = array_of(e, row, few),
                            dy = array_of(e, shape, few);
            const std::vector<const any_array*> values{&x, &gamma, &beta, &dy};
            const test::build_function build = [](const auto& in) {
                const any_tensor y = untyped::layer_norm(in[0], in[1], in[2], 1e-3);
                std::vector<any_tensor> out{y, any_tensor({y.node(), 1}), any_tensor({y.node(), 2})};
                for (const any_tensor& d : detail::add_gradients({y}, {in[0], in[1], in[2]}, {in[3]})) out.push_back(d);
                return out;
            };
            const std::vector<any_array> out = run_on_gpu(values, build), again = run_on_gpu(values, build);
            const auto wanted = test::on_host_in_double(values, build);
            // x is 3 or so from 0, and up to f from 0 where it is normalised; gamma's slope has a term a row.
            double f = 1;
            for (const double factor : wanted[2]) f = std::max(f, factor);
            const double rows = static_cast<double>(shape.elements()) / static_cast<double>(row[0].size);
            const double scales[] = {2 * (1 + 5 * f), 2, 2 * f, 2 * f * (3 + 9 * f), 9 * f * rows, rows};
            for (std::size_t o = 0; o < out.size(); ++o) {
                INFO("result ", o);
                const double unit = e == element_type::float64 ? 0x1p-52 : 0x1p-23;
                CHECK(difference(out[o], wanted[o], [&](std::int64_t i) {
                          return 10 * unit * scales[o] + 1e-7 * (size_of(e) == 2) +
                                 0.51 * test::spacing(out[o].element()) *
                                     std::fabs(wanted[o][static_cast<std::size_t>(i)]);
                      }) == "");
                CHECK(same_bits(out[o], again[o]));
            }
        }
}

TEST_CASE("GPU: the gradient of gamma alone needs no more than it") {
    drawn_numbers draw;
    const any_array x = array_of(element_type::float32, extents(30, 100), [&](std::int64_t) { return draw(-1, 1); });
    const any_array ones = array_of(element_type::float32, extents(100), [](std::int64_t) { return 1; });
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

TEST_CASE("GPU: what is added to layer_norm's gradient may begin anywhere: in a loop it is a slice") {
    constexpr std::size_t rows = 3, n = 8; // of which 16 bytes are read at once where all begin so
    std::mt19937 random = cuda::testing::seeded();
    const auto numbers = [&](std::size_t count) {
        std::vector<float> all(count);
        for (float& v : all) v = static_cast<float>(random() % 2001) / 1000 - 1;
        return all;
    };
    using floats = cuda::testing::device_array<float>;
    std::vector<float> added = numbers(rows * n + 1);
    const floats apart(added);
    added.erase(added.begin());
    const floats whole(added), x(numbers(rows * n)), gamma(numbers(n)), dy(numbers(rows * n)), mean(numbers(rows)),
        factor(numbers(rows));
    const auto gradient = [&](const float* more) {
        floats dx(rows * n);
        cuda::layer_norm_gradient(element_type::float32, x.get(), gamma.get(), dy.get(), mean.get(), factor.get(), more,
                                  dx.get(), nullptr, nullptr, nullptr,
                                  cuda::lay_gradient_rows(element_type::float32, rows, n), nullptr);
        return dx.read();
    };
    const std::vector<float> found = gradient(apart.get() + 1), wanted = gradient(whole.get());
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-5));
}
