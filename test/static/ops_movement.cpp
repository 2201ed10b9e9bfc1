// The result types of ops that move elements.

#include <array>
#include <type_traits>

#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct time_steps : dim<"time"> {} steps;

inline const tensor<float, shape<batch, 28, 28>> x;
inline const tensor<float, shape<batch, steps, 64>> y;
inline const tensor<float, shape<dyn, 6>> z;
inline const tensor<int, shape<batch, 7>> ids;

template <class T, class S, class X> inline constexpr bool is = std::is_same_v<X, tensor<T, S>>;

static_assert(is<float, shape<batch, 784>, decltype(reshape<shape<batch, 784>>(x))>);
static_assert(is<float, shape<batch, 784>, decltype(reshape<shape<batch, deduce>>(x))>);
static_assert(is<float, shape<batch, 784>, decltype(reshape<shape<batch, dyn>>(x))>);
static_assert(is<float, shape<batch, 784>, decltype(reshape<shape<deduce, 784>>(x))>);
static_assert(is<float, shape<dyn, 28>, decltype(reshape<shape<deduce, 28>>(x))>);
static_assert(is<float, shape<batch, steps, 8, 8>, decltype(reshape<shape<batch, steps, 8, 8>>(y))>);
static_assert(is<float, shape<steps, batch, 64>, decltype(reshape<shape<steps, batch, 64>>(y))>);
static_assert(is<float, shape<dyn, 64>, decltype(reshape<shape<deduce, 64>>(y))>);
static_assert(is<float, shape<batch, steps, 64>, decltype(reshape<shape<batch, deduce, 64>>(y))>);
static_assert(is<float, shape<dyn, 3, 2>, decltype(reshape<shape<kept<0>, 3, 2>>(z))>);
static_assert(is<float, shape<6, dyn>, decltype(reshape<shape<6, kept<0>>>(z))>);
static_assert(is<float, shape<batch, 6>, decltype(reshape<shape<batch, 6>>(z))>); // batch is what is left over
static_assert(is<float, shape<10, 6>, decltype(reshape<shape<10, 6>>(z))>);       // checked in the run
static_assert(is<float, shape<1, 1>, decltype(reshape<shape<1, 1>>(std::declval<tensor<float, shape<>>>()))>);

static_assert(is<float, shape<28, 28, batch>, decltype(transpose(x))>);
static_assert(is<float, shape<28, batch, 28>, decltype(transpose<2, 0, 1>(x))>);
static_assert(is<float, shape<64, batch, steps>, decltype(transpose<-1, 0, 1>(y))>);
static_assert(is<float, shape<batch, 1, 28, 28>, decltype(expand_dims<1>(x))>);
static_assert(is<float, shape<batch, 28, 28, 1>, decltype(expand_dims<-1>(x))>);
static_assert(is<float, shape<1, batch, 28, 28, 1>, decltype(expand_dims<0, -1>(x))>);
static_assert(is<float, shape<batch, 28, 28>, decltype(squeeze(expand_dims<0, -1>(x)))>);
static_assert(is<float, shape<6>, decltype(squeeze<0>(z))>);
static_assert(is<float, shape<3, batch, 28, 28>, decltype(broadcast_to<shape<3, batch, 28, 28>>(x))>);
static_assert(is<float, shape<5, 6>, decltype(broadcast_to<shape<5, 6>>(z))>);
static_assert(is<float, shape<batch, 28, 28>, decltype(broadcast_like(std::declval<tensor<float, shape<28>>>(), x))>);

static_assert(is<float, shape<batch, 56, 28>, decltype(concat<1>(x, x))>);
static_assert(is<float, shape<dyn, 28, 28>, decltype(concat<0>(x, x))>);
static_assert(
    is<float, shape<4, 6>,
       decltype(concat<0>(std::declval<tensor<float, shape<1, 6>>>(), std::declval<tensor<float, shape<3, dyn>>>()))>);
static_assert(std::is_same_v<decltype(split<4, 1>(x)), std::array<tensor<float, shape<batch, 7, 28>>, 4>>);
static_assert(std::is_same_v<decltype(split<2>(z)), std::array<tensor<float, shape<dyn, 6>>, 2>>);
static_assert(std::is_same_v<decltype(split_sizes<-1, 1, 5>(z)),
                             std::tuple<tensor<float, shape<dyn, 1>>, tensor<float, shape<dyn, 5>>>>);
static_assert(is<float, shape<batch, 2, 28, 28>, decltype(stack<1>(x, x))>);
static_assert(std::is_same_v<decltype(unstack<6, 1>(z)), std::array<tensor<float, shape<dyn>>, 6>>);

static_assert(is<float, shape<batch, 2, 28>, decltype(slice<range{}, range{1, 3}>(x))>);
static_assert(is<float, shape<batch, 28, 14>, decltype(slice<range{}, range{.step = -1}, range{.step = 2}>(x))>);
static_assert(is<float, shape<3, 6>, decltype(slice<range{2, 5}>(z))>);
static_assert(is<float, shape<dyn, 6>, decltype(slice<range{2, unbounded}>(z))>);
static_assert(is<float, shape<batch, 28, 28>, decltype(reverse<0>(x))>);
static_assert(is<float, shape<batch, 7, 6>, decltype(gather(z, ids))>);
static_assert(is<float, shape<dyn, batch, 7>, decltype(gather<1>(z, ids))>);
static_assert(is<float, shape<dyn, 9>, decltype(pad<margin{1, 0}, margin{1, 2}>(z))>);
static_assert(is<float, shape<batch, 28, 30>, decltype(pad<margin{}, margin{}, margin{1, 1}>(x))>);
static_assert(is<float, shape<dyn, 12>, decltype(tile<1, 2>(z))>);
static_assert(is<float, shape<batch, 7, 10>, decltype(one_hot<10>(ids))>);
static_assert(is<bool, shape<10, batch, 7>, decltype(one_hot<10, bool, 0>(ids))>);

static_assert(std::is_same_v<decltype(reshape<shape<2>>(ill_shaped{})), ill_shaped>);
static_assert(std::is_same_v<decltype(split<2>(ill_shaped{})), std::array<ill_shaped, 2>>);
static_assert(std::is_same_v<decltype(concat<0>(x, ill_shaped{})), ill_shaped>);

// The rules, at run time as at compile time.
template <class Op> constexpr fault fault_of(const typename Op::attributes& a, std::initializer_list<extents> sizes) {
    tensor_type in[4];
    int n = 0;
    for (const extents& e : sizes) in[n++] = {element_type::float32, e};
    return Op::infer(a, type_list(in, n), 0).what;
}
constexpr extent named = extent::named("batch");
static_assert(fault_of<reshape_op>(detail::reshape_attributes(extents(4, 4), extents(3, 5)), {extents(3, 5)}) ==
              fault::element_counts_differ);
static_assert(fault_of<reshape_op>(detail::reshape_attributes(extents(4, extent{}), extents(3, 5)), {extents(3, 5)}) ==
              fault::size_not_divisible);
static_assert(fault_of<reshape_op>(detail::reshape_attributes(extents(extent{}, extent{}), extents(3, 5)),
                                   {extents(3, 5)}) == fault::more_than_one_size_to_deduce);
static_assert(fault_of<reshape_op>(detail::reshape_attributes(extents(named, 27), extents(named, 28)),
                                   {extents(named, 28)}) == fault::element_counts_differ);
static_assert(fault_of<reshape_op>(detail::reshape_attributes(extents(100, 5), extents(named, 7)),
                                   {extents(named, 7)}) == fault::element_counts_differ);
static_assert(fault_of<reshape_op>(detail::reshape_attributes(extents(0, extent{}), extents(3, 0)), {extents(3, 0)}) ==
              fault::size_not_divisible);
// What is copied cancels, also where it is 0, and what is left over is 0 elements in rows of no size that is 0.
static_assert(reshape_op::infer({{reshape_op::deduced, reshape_op::copied(2)}, {}},
                                type_list(std::array{tensor_type{element_type::float32, extents(2, 0, 0)}}.data(), 1),
                                0)
                  .type.extents == extents(0, 0));
static_assert(reshape_op::infer({{reshape_op::deduced, reshape_op::copied(2)}, {}},
                                type_list(std::array{tensor_type{element_type::float32, extents(2, 3, 0)}}.data(), 1),
                                0)
                  .type.extents == extents(6, 0));
static_assert(fault_of<transpose_op>({{0, 0}}, {extents(2, 3)}) == fault::axes_are_not_a_permutation);
static_assert(fault_of<transpose_op>({{0}}, {extents(2, 3)}) == fault::axes_are_not_a_permutation);
static_assert(fault_of<squeeze_op>({{0}}, {extents(2, 3)}) == fault::squeezed_size_is_not_1);
static_assert(fault_of<squeeze_op>({{0}}, {extents(named, 3)}) == fault::squeezed_size_is_not_1);
static_assert(fault_of<expand_dims_op>({{4}}, {extents(2, 3)}) == fault::axis_out_of_range);
static_assert(fault_of<concat_op>({0}, {extents(2, 3), extents(2, 4)}) == fault::sizes_differ);
static_assert(fault_of<concat_op>({0}, {extents(2, 3), extents(2)}) == fault::ranks_differ);
static_assert(fault_of<split_op>({0, 2, {}}, {extents(3)}) == fault::size_not_divisible);
static_assert(fault_of<split_op>({0, 0, {1, 1}}, {extents(3)}) == fault::sizes_sum_differs);
static_assert(fault_of<unstack_op>({0, 2}, {extents(3)}) == fault::sizes_differ);
static_assert(fault_of<tile_op>({{2}}, {extents(3, 4)}) == fault::ranks_differ);
static_assert(fault_of<slice_op>({{0}, {5}, {1}}, {extents(4)}) == fault::slice_out_of_range);

} // namespace
