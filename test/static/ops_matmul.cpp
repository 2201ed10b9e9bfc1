// The result types of tenon::matmul and matmul_float8.

#include <type_traits>

#include <tenon/ops/linear/matmul_float8.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct width_size : dim<"width"> {} width;

template <class T, class S> using t = tensor<T, S>;
template <class A, class B> using product = decltype(matmul(std::declval<A>(), std::declval<B>()));
template <class A, class B> using product_nt = decltype(matmul<transpose_b>(std::declval<A>(), std::declval<B>()));
template <class A, class B> using product_tn = decltype(matmul<transpose_a>(std::declval<A>(), std::declval<B>()));

static_assert(std::is_same_v<product<t<float, shape<2, 3>>, t<float, shape<3, 4>>>, t<float, shape<2, 4>>>);
static_assert(
    std::is_same_v<product<t<float, shape<batch, 784>>, t<float, shape<784, 300>>>, t<float, shape<batch, 300>>>);
static_assert(
    std::is_same_v<product<t<double, shape<dyn, dyn>>, t<double, shape<3, width>>>, t<double, shape<dyn, width>>>);
static_assert(std::is_same_v<product<t<half, shape<3>>, t<half, shape<3>>>, t<half, shape<>>>);
static_assert(std::is_same_v<product<t<int, shape<3>>, t<int, shape<3, 4>>>, t<int, shape<4>>>);
static_assert(std::is_same_v<product<t<std::int8_t, shape<batch, 3>>, t<std::int8_t, shape<3, 4>>>,
                             t<std::int32_t, shape<batch, 4>>>);
static_assert(
    std::is_same_v<product_nt<t<std::int8_t, shape<2, 3>>, t<std::int8_t, shape<4, 3>>>, t<std::int32_t, shape<2, 4>>>);
static_assert(std::is_same_v<product<t<std::int8_t, shape<3>>, t<std::int8_t, shape<3>>>, t<std::int32_t, shape<>>>);
static_assert(std::is_same_v<product<t<float, shape<batch, 3>>, t<float, shape<3>>>, t<float, shape<batch>>>);
static_assert(
    std::is_same_v<product<t<float, shape<batch, 2, 3>>, t<float, shape<3, 4>>>, t<float, shape<batch, 2, 4>>>);
static_assert(std::is_same_v<product<t<float, shape<batch, 1, 2, 3>>, t<float, shape<5, 3, 4>>>,
                             t<float, shape<batch, 5, 2, 4>>>);
static_assert(std::is_same_v<product<t<float, shape<dyn, 2, 3>>, t<float, shape<7, 3, 4>>>, t<float, shape<7, 2, 4>>>);
static_assert(
    std::is_same_v<product_nt<t<float, shape<batch, 3>>, t<float, shape<width, 3>>>, t<float, shape<batch, width>>>);
static_assert(std::is_same_v<product_tn<t<float, shape<batch, 3>>, t<float, shape<batch, 5>>>, t<float, shape<3, 5>>>);

// What a mistaken call returned goes through in silence.
static_assert(std::is_same_v<product<ill_shaped, t<float, shape<3, 4>>>, ill_shaped>);

// The rule, at run time as at compile time.
constexpr fault fault_of(const extents& a, const extents& b, element_type ea = element_type::float32,
                         element_type eb = element_type::float32) {
    const tensor_type in[] = {{ea, a}, {eb, b}};
    return matmul_op::infer({}, type_list(in, 2), 0).what;
}
constexpr extent named = extent::named("batch"), other = extent::named("width");
static_assert(fault_of(extents(2, 3), extents(4, 5)) == fault::inner_dimensions_differ);
static_assert(fault_of(extents(2, named), extents(other, 5)) == fault::inner_dimensions_differ);
static_assert(fault_of(extents(2, named), extents(3, 5)) == fault::inner_dimensions_differ);
static_assert(fault_of(extents(2, extent{}), extents(3, 5)) == fault::none);
static_assert(fault_of(extents(2, 2, 3), extents(3, 3, 5)) == fault::sizes_do_not_broadcast);
static_assert(fault_of(extents{}, extents(3, 5)) == fault::rank_too_low);
static_assert(fault_of(extents(2, 3), extents(3, 5), element_type::float32, element_type::float64) ==
              fault::element_types_differ);
static_assert(fault_of(extents(2, 3), extents(3, 5), element_type::int8, element_type::int8) == fault::none);
static_assert(fault_of(extents(2, 3), extents(3, 5), element_type::int8, element_type::int32) ==
              fault::element_types_differ);
constexpr bool is_refused(element_type e) {
    return fault_of(extents(2, 3), extents(3, 5), e, e) == fault::element_type_not_supported;
}
static_assert(is_refused(element_type::boolean) && is_refused(element_type::string));
static_assert(is_refused(element_type::int16) && is_refused(element_type::uint8) && is_refused(element_type::uint16));
static_assert(is_refused(element_type::uint32) && is_refused(element_type::uint64));

template <class A, class B> using product_float8 = decltype(matmul_float8(std::declval<A>(), std::declval<B>()));
static_assert(std::is_same_v<product_float8<t<bfloat16, shape<batch, 2, 3>>, t<bfloat16, shape<3, width>>>,
                             t<bfloat16, shape<batch, 2, width>>>);
static_assert(std::is_same_v<decltype(matmul_float8<transpose_a>(t<half, shape<3, 4>>(), t<half, shape<3, dyn>>())),
                             t<half, shape<4, dyn>>>);

// A bias is of the product's type, and int8 has none in the same pass.
constexpr fault fault_with_bias(element_type e, element_type bias) {
    const tensor_type in[] = {{e, extents(2, 3)}, {e, extents(3, 5)}, {bias, extents(5)}};
    return matmul_bias_op::infer({}, type_list(in, 3), 0).what;
}
static_assert(fault_with_bias(element_type::int32, element_type::int32) == fault::none);
static_assert(fault_with_bias(element_type::int8, element_type::int32) == fault::element_type_not_supported);
static_assert(fault_with_bias(element_type::int8, element_type::int8) == fault::element_type_not_supported);

} // namespace
