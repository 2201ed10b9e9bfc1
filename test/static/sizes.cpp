// Sizes that overflow and lists of more than eight dimensions are faults at compile time, by the rules that hold at
// run time.

#include <cstdint>

#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/pooling.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>

using namespace tenon;

namespace {

constexpr std::int64_t big = std::int64_t{1} << 61;

template <class Op> constexpr fault fault_of(const typename Op::attributes& a, const tensor_type& x) {
    return Op::infer(a, type_list(&x, 1), 0).what;
}
template <class Op>
constexpr fault fault_of(const typename Op::attributes& a, const tensor_type& x, const tensor_type& y) {
    const tensor_type in[] = {x, y};
    return Op::infer(a, type_list(in, 2), 0).what;
}
constexpr tensor_type bytes(const extents& e) { return {element_type::uint8, e}; }
constexpr tensor_type floats(const extents& e) { return {element_type::float32, e}; }
constexpr extents nine = [] {
    extents e;
    for (int i = 0; i < 9; ++i) e.push_back(1);
    return e;
}();

static_assert(fault_of<concat_op>({0}, bytes({big}), bytes({big})) == fault::none); // 2^62
static_assert(fault_of<concat_op>({0}, bytes({big + 1}), bytes({big})) == fault::sizes_overflow);
static_assert(fault_of<concat_op>({0}, bytes({4 * (big - 1), 0}), bytes({4 * (big - 1), 0})) == fault::sizes_overflow);
static_assert(fault_of<stack_op>({0}, bytes({big + 1}), bytes({big + 1})) == fault::sizes_overflow);
static_assert(fault_of<split_op>({0, 0, index_list(2 * big, 2 * big, 2 * big, 2 * big - 4, 8)}, bytes({4})) ==
              fault::sizes_overflow);
static_assert(fault_of<split_op>({0, 0, index_list(1, 3)}, bytes({4})) == fault::none);
static_assert([] {
    const tensor_type in[] = {bytes({4}),       bytes({2 * big}), bytes({2 * big}),
                              bytes({2 * big}), bytes({2 * big}), bytes({4})};
    return split_like_op::infer({0}, type_list(in, 6), 0).what;
}() == fault::sizes_overflow);
static_assert(fault_of<tile_op>({index_list(big)}, bytes({8})) == fault::sizes_overflow);
static_assert(fault_of<tile_op>({index_list(big, 4)}, bytes({1, 2})) == fault::sizes_overflow);
static_assert(fault_of<tile_op>({index_list(big, 8)}, bytes({0, 0})) == fault::none);
static_assert(fault_of<pad_op>({index_list(4 * (big - 1)), index_list(4 * (big - 1)), 0}, bytes({1})) ==
              fault::sizes_overflow);
static_assert(fault_of<reshape_op>({index_list(2 * big, 4, 2), {}}, bytes({0})) == fault::sizes_overflow);
static_assert(fault_of<broadcast_to_op>({index_list(2 * big, 4), {}}, bytes({1})) == fault::sizes_overflow);
static_assert(fault_of<one_hot_op>({big, -1, element_type::float32}, {element_type::int32, {4}}) ==
              fault::sizes_overflow);
static_assert(fault_of<conv2d_op>({.groups = 0x7fffffff}, floats({1, 4, 4, 0x7fffffff}),
                                  floats({1, 1, std::int64_t{1} << 40, 0x7fffffff})) == fault::sizes_overflow);
static_assert(fault_of<matmul_op>({}, floats({2 * big, 0}), floats({0, 8})) == fault::sizes_overflow);

// More than eight dimensions.
static_assert(fault_of<reshape_op>(detail::reshape_attributes(nine, {1}), bytes({1})) == fault::too_many_dimensions);
static_assert(fault_of<broadcast_to_op>({index_list(1), nine}, bytes({1})) == fault::too_many_dimensions);
static_assert(fault_of<expand_dims_op>({index_list(0, 1)}, bytes({1, 1, 1, 1, 1, 1, 1})) == fault::too_many_dimensions);
static_assert(fault_of<stack_op>({0}, bytes({1, 1, 1, 1, 1, 1, 1, 1})) == fault::too_many_dimensions);
static_assert(fault_of<gather_op>({0}, bytes({1, 1, 1, 1, 1, 1, 1, 1}), {element_type::int32, {1, 1}}) ==
              fault::too_many_dimensions);
static_assert(equal_shapes(nine, extents{1, 1, 1, 1, 1, 1, 1, 1}).what == fault::too_many_dimensions);

// Images without pixels: no window of theirs sees only padding, and no windows make no image.
static_assert(fault_of<conv2d_transpose_op>({}, floats({2, 0, 3, 4}), floats({3, 3, 5, 4})) ==
              fault::image_without_pixels);
static_assert(fault_of<conv2d_transpose_op>({.padding = padding::rule::same}, floats({2, 0, 3, 4}),
                                            floats({3, 3, 5, 4})) == fault::none);
static_assert(
    fault_of<max_pool2d_op>({.window_h = 3, .window_w = 3, .padding = padding::rule::given, .top = 2, .bottom = 2},
                            floats({1, 0, 5, 1})) == fault::image_without_pixels);

} // namespace
