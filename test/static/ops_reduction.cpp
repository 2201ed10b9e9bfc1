// The result types of reductions.

#include <type_traits>

#include <tenon/ops/reduce/reduction.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

using images = tensor<float, shape<batch, 28, dyn>>;
inline const images x;

static_assert(std::is_same_v<decltype(sum(x)), tensor<float, shape<>>>);
static_assert(std::is_same_v<decltype(sum<0>(x)), tensor<float, shape<28, dyn>>>);
static_assert(std::is_same_v<decltype(sum<1>(x)), tensor<float, shape<batch, dyn>>>);
static_assert(std::is_same_v<decltype(sum<-1>(x)), tensor<float, shape<batch, 28>>>);
static_assert(std::is_same_v<decltype(sum<0, 2>(x)), tensor<float, shape<28>>>);
static_assert(std::is_same_v<decltype(sum<0, 2>(x, keepdims)), tensor<float, shape<1, 28, 1>>>);
static_assert(std::is_same_v<decltype(sum(x, keepdims)), tensor<float, shape<1, 1, 1>>>);
static_assert(std::is_same_v<decltype(mean<2, 1>(x)), tensor<float, shape<batch>>>);
static_assert(std::is_same_v<decltype(max<1>(x)), tensor<float, shape<batch, dyn>>>);
static_assert(std::is_same_v<decltype(argmax<1>(x)), tensor<std::int64_t, shape<batch, dyn>>>);
static_assert(std::is_same_v<decltype(argmin(x)), tensor<std::int64_t, shape<>>>);
static_assert(std::is_same_v<decltype(count_nonzero<0>(x)), tensor<std::int64_t, shape<28, dyn>>>);
static_assert(std::is_same_v<decltype(logsumexp<1>(x, keepdims)), tensor<float, shape<batch, 1, dyn>>>);
static_assert(std::is_same_v<decltype(variance<0, 1, 2>(x)), tensor<float, shape<>>>);
static_assert(std::is_same_v<decltype(standard_deviation<0>(x, ddof{1})), tensor<float, shape<28, dyn>>>);
static_assert(std::is_same_v<decltype(norm<2, 1>(x, keepdims)), tensor<float, shape<batch, 1, dyn>>>);
static_assert(std::is_same_v<decltype(any<0>(std::declval<tensor<bool, shape<batch, 3>>>())), tensor<bool, shape<3>>>);
static_assert(std::is_same_v<decltype(sum(std::declval<tensor<int, shape<>>>())), tensor<int, shape<>>>);
static_assert(std::is_same_v<decltype(sum<0>(ill_shaped{})), ill_shaped>);

constexpr fault sum_fault(const index_list& axes, element_type e = element_type::float32) {
    const tensor_type in{e, extents(2, 3)};
    return sum_op::infer({axes, false}, type_list(&in, 1), 0).what;
}
static_assert(sum_fault({2}) == fault::axis_out_of_range);
static_assert(sum_fault({-3}) == fault::axis_out_of_range);
static_assert(sum_fault({1, -1}) == fault::axis_given_twice);
static_assert(sum_fault({}, element_type::boolean) == fault::element_type_must_be_numeric);
static_assert(sum_fault({}, element_type::string) == fault::element_type_must_be_numeric);
static_assert(sum_fault({-1, 0}) == fault::none);

constexpr fault max_fault(const extents& x_sizes, const index_list& axes) {
    const tensor_type in{element_type::float32, x_sizes};
    return max_op::infer({axes, false}, type_list(&in, 1), 0).what;
}
static_assert(max_fault(extents(0, 3), {0}) == fault::nothing_to_choose_from);
static_assert(max_fault(extents(0, extent{}), {0}) == fault::nothing_to_choose_from);
static_assert(max_fault(extents(0, 3), {1}) == fault::none); // no output either
static_assert(max_fault(extents(0, 0, 3), {0}) == fault::none);
static_assert(max_fault(extents(extent{}, 3), {0}) == fault::none); // seen in the run

} // namespace
