// Element types and sizes of elementwise expressions.
#include <tenon/ops/elementwise/activations.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

template <class E, class T, class S>
inline constexpr bool is = std::is_same_v<typename E::element_type, T>&& std::is_same_v<typename E::shape_type, S>;
template <class T, class S> T&& of_type();
template <class T, auto... D> tensor<T, shape<D...>>& t();

// Sizes broadcast, and the more static one is kept.
static_assert(is<decltype(t<float, 3, 4>() + t<float, 4>()), float, shape<3, 4>>);
static_assert(is<decltype(t<float, 3, 1>() * t<float, 1, 4>()), float, shape<3, 4>>);
static_assert(is<decltype(t<float, dyn, 4>() - t<float, 3, 4>()), float, shape<3, 4>>);
static_assert(is<decltype(t<float, batch, 4>() / t<float, 4>()), float, shape<batch, 4>>);
static_assert(is<decltype(t<float, batch, 1>() + t<float, batch, 4>()), float, shape<batch, 4>>);
static_assert(is<decltype(t<float>() + t<float, dyn>()), float, shape<dyn>>);
static_assert(is<decltype(t<float, dyn>() + t<float, batch>()), float, shape<batch>>);

// Numbers take the tensor's type, on both sides.
static_assert(is<decltype(2 * t<float, 3>() + 1), float, shape<3>>);
static_assert(is<decltype(1 - t<half, 3>()), half, shape<3>>);
static_assert(is<decltype(t<std::int8_t, 3>() % 5), std::int8_t, shape<3>>);
static_assert(is<decltype(t<float, 3>() > 0), bool, shape<3>>);
static_assert(is<decltype(select(t<bool, 3>(), t<float, 2, 3>(), 0)), float, shape<2, 3>>);
static_assert(is<decltype(clip(t<float, 3>(), -1, 1)), float, shape<3>>);

// Comparisons and tests are bool; conversions say their own type.
static_assert(is<decltype(t<double, 3>() == t<double, 3>()), bool, shape<3>>);
static_assert(is<decltype(is_nan(t<float, batch>())), bool, shape<batch>>);
static_assert(is<decltype(cast<std::int32_t>(t<float, batch>())), std::int32_t, shape<batch>>);
static_assert(is<decltype(!t<bool, 2>() && t<bool, 2>()), bool, shape<2>>);
static_assert(is<decltype(~t<std::uint8_t, 2>() << 1), std::uint8_t, shape<2>>);

// Each instruction has a public function of its name, and one for tensors whose types are known at run time.
template <opcode_group G>
using sample =
    std::conditional_t<G == opcode_group::integer, int, std::conditional_t<G == opcode_group::boolean, bool, float>>;
template <class E> inline constexpr opcode instruction_of = opcode::count_;
template <class T, class S, opcode Op, class... X>
inline constexpr opcode instruction_of<expr<T, S, detail::apply<Op, T, X...>>> = Op;

#define TENON_UNARY(NAME, GROUP, ...)                                                                          \
    static_assert(instruction_of<decltype(tenon::NAME(t<sample<opcode_group::GROUP>, 3>()))> == opcode::NAME); \
    static_assert(std::is_same_v<decltype(untyped::NAME(std::declval<const any_tensor&>())), any_tensor>);
#define TENON_BINARY(NAME, GROUP, ...)                                                                         \
    static_assert(instruction_of<decltype(tenon::NAME(t<sample<opcode_group::GROUP>, 3>(),                     \
                                                      t<sample<opcode_group::GROUP>, 3>()))> == opcode::NAME); \
    static_assert(std::is_same_v<decltype(untyped::NAME(std::declval<const any_tensor&>(), 1)), any_tensor>);
#define TENON_TERNARY(NAME, GROUP, ...)                                                                             \
    static_assert(instruction_of<decltype(tenon::NAME(                                                              \
                      t<std::conditional_t<opcode_group::GROUP == opcode_group::choice, bool, float>, 3>(),         \
                      t<float, 3>(), t<float, 3>()))> == opcode::NAME);                                             \
    static_assert(                                                                                                  \
        std::is_same_v<decltype(untyped::NAME(std::declval<const any_tensor&>(), std::declval<const any_tensor&>(), \
                                              std::declval<const any_tensor&>())),                                  \
                       any_tensor>);
#include <tenon/tape/instructions.inl>

// Composites.
static_assert(is<decltype(gelu(t<float, batch, 4>())), float, shape<batch, 4>>);
static_assert(is<decltype(logaddexp(t<float, 3, 1>(), t<float, 4>())), float, shape<3, 4>>);
static_assert(is<decltype(floor_divide(t<int, 3>(), 2)), int, shape<3>>);
static_assert(is<decltype(is_close(t<float, 3>(), 2)), bool, shape<3>>);
static_assert(is<decltype(leaky_relu(t<float, 2, 3>(), t<float, 3>())), float, shape<2, 3>>);

// A mistake elsewhere is absorbed.
static_assert(std::is_same_v<decltype(ill_shaped{} + t<float, 3>()), ill_shaped>);
static_assert(std::is_same_v<decltype(2 * relu(ill_shaped{})), ill_shaped>);
static_assert(std::is_same_v<decltype(logaddexp(t<float, 3>(), ill_shaped{})), ill_shaped>);
static_assert(std::is_same_v<decltype(select(ill_shaped{}, 1, t<float, 3>())), ill_shaped>);

// An expression is a tensor, of its type or one less known.
static_assert(std::is_convertible_v<decltype(t<float, 3>() + 1), tensor<float, shape<3>>>);
static_assert(std::is_convertible_v<decltype(t<float, 3>() + 1), tensor<float, shape<dyn>>>);
static_assert(!std::is_convertible_v<decltype(t<float, dyn>() + 1), tensor<float, shape<3>>>);
static_assert(std::is_convertible_v<decltype(t<float, 3>() + 1), any_tensor>);

// Operators are for tensors only: nothing is taken from other types.
template <class A, class B>
concept CanAdd = requires(A a, B b) {
    a + b;
};
struct stranger {};
static_assert(!CanAdd<stranger, stranger>);
static_assert(!CanAdd<tensor<float, shape<3>>, stranger>);
static_assert(!CanAdd<tensor<float, shape<3>>, const char*>);

} // namespace
