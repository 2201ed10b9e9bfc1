#include <tenon/graph/tensor.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/session/session.hpp>

// The typed handle: what converts to what, what ops make of it, and that mistakes are absorbed after the first.

namespace tn = tenon;
using tn::array, tn::dyn, tn::shape, tn::tensor;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct time_step : tn::dim<"time"> {} time_step;

template <class From, class To> inline constexpr bool converts = std::is_convertible_v<From, To>;

// Sizes may be forgotten, not invented.
static_assert(converts<tensor<float, shape<3, 4>>, tensor<float, shape<dyn, 4>>>);
static_assert(converts<tensor<float, shape<batch, 4>>, tensor<float, shape<dyn, dyn>>>);
static_assert(!converts<tensor<float, shape<dyn, 4>>, tensor<float, shape<3, 4>>>);
static_assert(!converts<tensor<float, shape<dyn>>, tensor<float, shape<batch>>>);
static_assert(!converts<tensor<float, shape<3>>, tensor<float, shape<batch>>>);
static_assert(!converts<tensor<float, shape<batch>>, tensor<float, shape<time_step>>>);
static_assert(!converts<tensor<float, shape<3>>, tensor<float, shape<3, 1>>>);
static_assert(!converts<tensor<float, shape<3>>, tensor<double, shape<3>>>);

// Everything typed is an any_tensor; nothing untyped becomes typed by itself.
static_assert(converts<tensor<float, shape<3>>, tn::any_tensor>);
static_assert(!converts<tn::any_tensor, tensor<float, shape<3>>>);
static_assert(std::is_same_v<decltype(tn::as<float, shape<3U, batch>>(std::declval<tn::any_tensor>())),
                             tensor<float, shape<3, batch>>>);

// A handle costs a pointer and an index.
static_assert(sizeof(tensor<float, shape<3>>) <= 2 * sizeof(void*));
static_assert(tensor<float, shape<batch, 4>>::rank() == 2);

static_assert(tn::Operand<const tensor<float, shape<>>&> && !tn::Operand<float> && !tn::Operand<tn::any_tensor>);
// What a mistaken call returned is one too, so that functions of one's own absorb it.
static_assert(tn::Operand<tn::ill_shaped>);

// An expression is a temporary that converts to the tensor it stands for.
using x_type = tensor<float, shape<batch, 3>>;
using sum_type = decltype(std::declval<x_type>() + std::declval<tensor<float, shape<3>>>());
static_assert(tn::Operand<sum_type> && !std::is_same_v<sum_type, x_type>);
static_assert(converts<sum_type, x_type> && converts<sum_type, tensor<float, shape<dyn, 3>>> &&
              converts<sum_type, tn::any_tensor>);
static_assert(!converts<sum_type, tensor<float, shape<batch, 4>>>);

// One mistake is one complaint: what comes after takes ill_shaped and gives it back.
using ill = tn::ill_shaped;
static_assert(std::is_same_v<decltype(tn::identity(ill{})), ill>);
static_assert(std::is_same_v<decltype(tn::identity(ill{}, "name")), ill>);
static_assert(std::is_same_v<decltype(tn::stop_gradient(ill{})), ill>);
static_assert(std::is_same_v<decltype(tn::zeros_like(ill{})), ill>);
static_assert(std::is_same_v<decltype(exp(ill{})), ill>);
static_assert(std::is_same_v<decltype(ill{} + std::declval<x_type>()), ill>);
static_assert(std::is_same_v<decltype(2.0f * ill{}), ill>);
static_assert(std::is_same_v<decltype(tn::gradients(ill{}, std::declval<x_type>())), std::tuple<ill>>);
static_assert(std::is_same_v<decltype(std::declval<tn::variable_tensor<float, shape<3>>&>().assign(ill{})), ill>);
static_assert(std::is_same_v<decltype(std::declval<tn::variable_tensor<float, shape<3>>&>().assign_add(ill{})), ill>);
static_assert(
    std::is_same_v<decltype(std::declval<tn::session&>().run(ill{}, std::declval<x_type>())), std::tuple<ill, ill>>);

// A gradient has its input's type.
using scalar = tensor<double, shape<>>;
static_assert(
    std::is_same_v<decltype(tn::gradients(std::declval<scalar>(), std::declval<tensor<double, shape<batch, 3>>>(),
                                          std::declval<tn::variable_tensor<double, shape<7>>>())),
                   std::tuple<tensor<double, shape<batch, 3>>, tensor<double, shape<7>>>>);

// Types of what makes tensors.
static_assert(std::is_same_v<decltype(tn::placeholder<float, shape<batch, 784U>>()), tensor<float, shape<batch, 784>>>);
static_assert(std::is_same_v<decltype(tn::placeholder<std::int32_t>()), tensor<std::int32_t, shape<>>>);
static_assert(std::is_same_v<decltype(tn::constant(1.0)), tensor<double, shape<>>>);
static_assert(std::is_same_v<decltype(tn::constant("text")), tensor<std::string, shape<>>>);
static_assert(std::is_same_v<decltype(tn::constant({1, 2, 3})), tensor<int, shape<3>>>);
static_assert(std::is_same_v<decltype(tn::constant({{1.0f, 2.0f}})), tensor<float, shape<1, 2>>>);
static_assert(std::is_same_v<decltype(tn::constant({"a", "longer"})), tensor<std::string, shape<2>>>);
static_assert(std::is_same_v<decltype(tn::constant({"one"})), tensor<std::string, shape<1>>>);
static_assert(
    std::is_same_v<decltype(tn::constant(std::declval<array<float, shape<2, 5>>>())), tensor<float, shape<2, 5>>>);
static_assert(std::is_same_v<decltype(tn::variable<float, shape<784, 300>>("w", tn::zeros())),
                             tn::variable_tensor<float, shape<784, 300>>>);
static_assert(std::is_same_v<decltype(tn::variable(3.0f)), tn::variable_tensor<float, shape<>>>);
static_assert(std::is_same_v<decltype(tn::variable("v", tn::constant({1, 2}))), tn::variable_tensor<int, shape<2>>>);
static_assert(std::is_same_v<decltype(std::declval<tn::variable_tensor<float, shape<3>>&>().assign_add(1.0f)),
                             tensor<float, shape<3>>>);
static_assert(std::is_same_v<decltype(tn::placeholder_with_default<shape<dyn>>(std::declval<tensor<int, shape<3>>>())),
                             tensor<int, shape<dyn>>>);

// What running gives.
using session = tn::session;
static_assert(
    std::is_same_v<decltype(std::declval<session&>().run(std::declval<x_type>())), array<float, shape<batch, 3>>>);
static_assert(
    std::is_same_v<decltype(std::declval<session&>().run(std::declval<sum_type>())), array<float, shape<batch, 3>>>);
static_assert(std::is_same_v<decltype(std::declval<session&>().run(std::declval<tn::any_tensor>())), tn::any_array>);
static_assert(std::is_void_v<decltype(std::declval<session&>().run(std::declval<tn::operation>()))>);
static_assert(std::is_same_v<decltype(std::declval<session&>().run(
                                 std::declval<x_type>(), std::declval<tn::operation>(), std::declval<scalar>())),
                             std::tuple<array<float, shape<batch, 3>>, array<double, shape<>>>>);
static_assert(!std::is_copy_constructible_v<session> && std::is_nothrow_move_constructible_v<session>);

} // namespace
