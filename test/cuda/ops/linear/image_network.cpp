#include "tests.hpp"
#include "ops/untyped_run.hpp"

// A network of layers for images: its loss and gradients on a GPU are those of the CPU.

namespace nn = tenon::nn;

namespace {

std::vector<tn::any_array> loss_and_gradients(const char* device) {
    const own_graph g;
    const auto x = tn::placeholder<double, tn::shape<2, 9, 8, 3>>("x");
    constexpr tn::conv2d_options strided{.stride = 2, .padding = tn::same};
    const auto first = nn::conv2d<4, 3>(nn::relu, {.kernel = tn::uniform(-1, 1, 3), .bias = tn::uniform(-1, 1, 4)});
    const auto second =
        nn::conv2d<5, 3, strided>(nn::relu, {.kernel = tn::uniform(-1, 1, 5), .bias = tn::uniform(-1, 1, 6)});
    std::vector<tn::any_tensor> asked;
    {
        const tn::device_scope there(device);
        const auto h = tn::max_pool2d<2, 1, tn::same>(first(x));
        const auto y = tn::average_pool2d<2, 1>(second(h));
        const auto loss = tn::mean(y * y);
        asked =
            tn::detail::add_gradients({loss}, {first.kernel(), first.bias(), second.kernel(), second.bias(), x}, {});
        asked.push_back(loss);
    }
    initialized_session s(g);
    tn::any_array fed(tn::element_type::float64, {2, 9, 8, 3});
    for (std::int64_t i = 0; i < fed.elements(); ++i) fed.data<double>()[i] = std::sin(static_cast<double>(i));
    return s.run_untyped(tn::test::fed(x, fed), asked);
}

} // namespace

TEST_CASE("a network of convolutions and pools has the CPU's loss and gradients on a GPU") {
    const std::vector<tn::any_array> wanted = loss_and_gradients("/cpu:0"), found = loss_and_gradients("/gpu:0");
    REQUIRE(found.size() == wanted.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
        REQUIRE(found[k].extents() == wanted[k].extents());
        double largest = 0;
        for (std::int64_t i = 0; i < found[k].elements(); ++i) {
            const double f = found[k].data<double>()[i], w = wanted[k].data<double>()[i];
            INFO(k << ", " << i << ": " << f << " instead of " << w);
            REQUIRE(std::fabs(f - w) <= 1e-12 * (1 + std::fabs(w)));
            largest = std::max(largest, std::fabs(w));
        }
        CHECK(largest > 0);
    }
}
