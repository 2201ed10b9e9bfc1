#include "tests.hpp"

using namespace tenon;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity(),
                 no_number = std::numeric_limits<double>::quiet_NaN();

/// What a function of typed tensors and its twin give are the same numbers, to rounding.
void check_twin(const std::string& name, const any_tensor& typed, const any_tensor& loose) {
    INFO(name);
    REQUIRE(typed.type() == loose.type());
    session s(graph(typed.node()->graph));
    const auto both =
        s.run_untyped({}, {untyped::cast(typed, element_type::float64), untyped::cast(loose, element_type::float64)});
    for (std::int64_t i = 0; i < both[0].elements(); ++i) {
        const double a = both[0].data<double>()[i], b = both[1].data<double>()[i];
        INFO("element ", i);
        if (std::isnan(a)) CHECK(std::isnan(b));
        else if (std::isinf(a)) CHECK(a == b);
        else CHECK(b == doctest::Approx(a).epsilon(1e-12));
    }
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a formula on tensors of unknown types gives what the typed one does") {
    const auto x = constant({0.3, 0.9, 0.5, 0.01, 0.7, 0.2}), y = constant({2.0, 0.0, 1.5, 0.4, 3.0, 0.7});
    const auto z = constant({-2.5, -0.0, 1.0, infinite, -infinite, no_number});
#define TWIN_1(NAME)                                          \
    check_twin(#NAME, NAME(x), untyped::NAME(any_tensor(x))); \
    check_twin(#NAME, NAME(z), untyped::NAME(any_tensor(z)));
#define TWIN_2(NAME)                                                            \
    check_twin(#NAME, NAME(x, y), untyped::NAME(any_tensor(x), any_tensor(y))); \
    check_twin(#NAME, NAME(z, y), untyped::NAME(any_tensor(z), any_tensor(y))); \
    check_twin(#NAME, NAME(x, 0.25), untyped::NAME(any_tensor(x), 0.25));       \
    check_twin(#NAME, NAME(2, y), untyped::NAME(2, any_tensor(y)));
    TWIN_2(squared_difference)
    TWIN_2(floor_divide)
    TWIN_2(divide_no_nan)
    TWIN_1(reciprocal_no_nan)
    TWIN_2(multiply_no_nan)
    TWIN_2(xlogy)
    TWIN_2(xlog1py)
    TWIN_2(xdivy)
    TWIN_2(logaddexp)
    TWIN_2(logaddexp2)
    TWIN_2(copysign)
    TWIN_2(heaviside)
    TWIN_2(fmin)
    TWIN_2(fmax)
    TWIN_1(nan_to_num)
    TWIN_1(sinc)
    TWIN_1(deg2rad)
    TWIN_1(rad2deg)
    TWIN_1(logit)
    TWIN_1(ndtr)
    TWIN_1(ndtri)
    TWIN_1(trigamma)
    TWIN_2(betaln)
    TWIN_1(signbit)
    TWIN_2(is_close)
    TWIN_1(relu6)
    TWIN_1(leaky_relu)
    TWIN_1(elu)
    TWIN_1(selu)
    TWIN_1(celu)
    TWIN_1(gelu)
    TWIN_1(gelu_tanh)
    TWIN_1(silu)
    TWIN_1(swish)
    TWIN_1(hard_sigmoid)
    TWIN_1(hard_swish)
    TWIN_1(hard_tanh)
    TWIN_1(softsign)
    TWIN_1(mish)
    TWIN_1(log_sigmoid)
    TWIN_1(tanh_shrink)
    TWIN_1(soft_shrink)
    TWIN_1(hard_shrink)
    check_twin("clip", clip(z, -1, x), untyped::clip(any_tensor(z), -1, any_tensor(x)));
    check_twin("lerp", lerp(x, y, 0.3), untyped::lerp(any_tensor(x), any_tensor(y), 0.3));
    check_twin("threshold", threshold(z, 0.5, x), untyped::threshold(any_tensor(z), 0.5, any_tensor(x)));
    check_twin("prelu", prelu(z, x), untyped::prelu(any_tensor(z), any_tensor(x)));
    check_twin("celu", celu(z, 2.0), untyped::celu(any_tensor(z), 2.0));
}

TEST_CASE_FIXTURE(in_graph, "twins of formulas: integers and half, and what the rule refuses") {
    const auto n = constant({7, -7, 5, 0}), d = constant({2, 2, -3, 1});
    check_twin("floor_divide", floor_divide(n, d), untyped::floor_divide(any_tensor(n), any_tensor(d)));
    check_twin("clip", clip(n, -1, 6), untyped::clip(any_tensor(n), -1, 6));
    check_twin("relu6", relu6(n), untyped::relu6(any_tensor(n)));
    const auto h = constant({half(1.0F), half(-2.0F)});
    check_twin("nan_to_num", nan_to_num(h / 0), untyped::nan_to_num(any_tensor(h / 0)));
    CHECK_ERROR(invalid_argument_error, "gelu: element type must be float, double, half or bfloat16: int32[4]",
                untyped::gelu(any_tensor(n)));
    CHECK_ERROR(invalid_argument_error, "lerp: one of the operands must be a tensor", untyped::lerp(1, 2, 3));
}
