#include "tests.hpp"
#include "../check_gradients.hpp"
#include "elementwise_support.hpp"

using namespace elementwise_test;
using test::check_gradients;
using test::given;
using test::input;

TEST_CASE("activations follow their papers") {
    unary(
        "leaky_relu", [](const auto& x) { return leaky_relu(x, 0.125); },
        [](double x) { return x > 0 ? x : 0.125 * x; }, usual);
    unary(
        "elu", OF(elu), [](double x) { return x > 0 ? x : std::expm1(x); }, usual);
    unary(
        "elu of alpha", [](const auto& x) { return elu(x, 0.5); },
        [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }, usual);
    unary(
        "selu", OF(selu),
        [](double x) {
            constexpr double alpha = 1.6732632423543772, scale = 1.0507009873554805;
            return scale * (x > 0 ? x : alpha * std::expm1(x));
        },
        usual);
    unary(
        "celu", [](const auto& x) { return celu(x, 2); }, [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); },
        usual);
    unary(
        "gelu", OF(gelu), [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, usual);
    unary(
        "gelu_tanh", OF(gelu_tanh),
        [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); },
        usual);
    unary(
        "silu", OF(silu), [](double x) { return x / (1 + std::exp(-x)); }, usual);
    unary(
        "swish", OF(swish), [](double x) { return x / (1 + std::exp(-x)); }, usual);
    unary(
        "hard_sigmoid", OF(hard_sigmoid), [](double x) { return std::fmin(std::fmax(x + 3, 0), 6) / 6; }, usual);
    unary(
        "hard_swish", OF(hard_swish), [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }, usual);
    unary(
        "softsign", OF(softsign), [](double x) { return x / (1 + std::fabs(x)); }, usual);
    unary(
        "mish", OF(mish), [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, usual);
    unary("tanh_shrink", OF(tanh_shrink), [](double x) { return x - std::tanh(x); }, {-2.5, -1, 1, 3});
    unary(
        "square", OF(square), [](double x) { return x * x; }, usual);
    unary(
        "pow<5>", OF(pow<5>), [](double x) { return x * x * x * x * x; }, usual);
    unary("pow<-3>", OF(pow<-3>), [](double x) { return 1 / (x * x * x); }, {-2.5, -1, 1, 3});
}
