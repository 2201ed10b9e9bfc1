// What the types of random tensors, dropout, convolutions, pools, softmax, layer_norm and attention are.

#include <cstdint>
#include <type_traits>

#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/pooling.hpp>
#include <tenon/ops/random/dropout.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/rows/normalization.hpp>
#include <tenon/ops/rows/softmax.hpp>

namespace tn = tenon;
using tn::dyn, tn::shape, tn::tensor, tn::ill_shaped, tn::conv2d_options, tn::pool2d_options;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct channel : tn::dim<"channel"> {} channel;

template <class T, class... U> inline constexpr bool is = (std::is_same_v<T, U> && ...);
template <auto... D> using f32 = tensor<float, shape<D...>>;
template <auto... D> using i32 = tensor<std::int32_t, shape<D...>>;
template <auto... D> using boolean = tensor<bool, shape<D...>>;
template <class X> const X& some();

// Windows: numbers give numbers; a named size stays where the window cannot change it, else becomes dyn.
using tn::conv2d, tn::same, tn::valid, tn::pad;
static_assert(is<decltype(conv2d(some<f32<batch, 28, 28, 1>>(), some<f32<5, 5, 1, 32>>())), f32<batch, 24, 24, 32>>);
static_assert(is<decltype(conv2d<1, same>(some<f32<8, 28, 27, 1>>(), some<f32<5, 5, 1, 32>>())), f32<8, 28, 27, 32>>);
static_assert(is<decltype(conv2d<2, same>(some<f32<8, 28, 27, 1>>(), some<f32<5, 5, 1, 32>>())), f32<8, 14, 14, 32>>);
static_assert(is<decltype(conv2d<2>(some<f32<8, 28, 27, 1>>(), some<f32<5, 5, 1, 32>>())), f32<8, 12, 12, 32>>);
static_assert(
    is<decltype(conv2d<1, pad(2, 3)>(some<f32<8, 28, 27, 1>>(), some<f32<5, 5, 1, 32>>())), f32<8, 28, 29, 32>>);
static_assert(is<decltype(conv2d<conv2d_options{.stride = {2, 3}, .padding = pad(1, 0, 0, 2), .dilation = {2, 1}}>(
                     some<f32<1, 9, 9, 2>>(), some<f32<3, 3, 2, 4>>())),
                 f32<1, 3, 3, 4>>);
static_assert(is<decltype(conv2d<conv2d_options{.groups = 2}>(some<f32<1, 5, 5, 6>>(), some<f32<3, 3, 3, 4>>())),
                 f32<1, 3, 3, 4>>);
static_assert(is<decltype(conv2d(some<f32<dyn, dyn, batch, channel>>(), some<f32<3, 3, channel, channel>>())),
                 f32<dyn, dyn, dyn, channel>>);
static_assert(is<decltype(conv2d<1, same>(some<f32<dyn, dyn, batch, 3>>(), some<f32<3, 3, dyn, channel>>())),
                 f32<dyn, dyn, batch, channel>>);
static_assert(is<decltype(conv2d(some<f32<1, batch, batch, 3>>(), some<f32<1, 1, 3, 4>>())), f32<1, batch, batch, 4>>);
static_assert(is<decltype(conv2d(some<f32<1, 4, 4, 3>>(), some<f32<dyn, 1, 3, dyn>>())), f32<1, dyn, 4, dyn>>);
static_assert(is<decltype(conv2d(some<ill_shaped>(), some<f32<1, 1, 3, 4>>())), ill_shaped>);
static_assert(is<decltype(tn::conv2d_transpose<2, same>(some<f32<batch, 7, 7, 8>>(), some<f32<3, 3, 4, 8>>())),
                 f32<batch, 14, 14, 4>>);
static_assert(is<decltype(tn::conv2d_transpose<2>(some<f32<batch, 7, dyn, 8>>(), some<f32<3, 3, 4, 8>>())),
                 f32<batch, 15, dyn, 4>>);

static_assert(is<decltype(tn::max_pool2d<2>(some<f32<batch, 28, 27, 3>>())), f32<batch, 14, 13, 3>>);
static_assert(is<decltype(tn::max_pool2d<3, 2, same>(some<f32<batch, 28, 27, dyn>>())), f32<batch, 14, 14, dyn>>);
static_assert(is<decltype(tn::average_pool2d<pool2d_options{.window = {2, 3}, .stride = {1, 2}, .padding = pad(0, 1)}>(
                     some<f32<batch, 28, 28, 3>>())),
                 f32<batch, 27, 14, 3>>);
static_assert(is<decltype(tn::max_pool2d<2>(some<f32<batch, dyn, channel, 3>>())), f32<batch, dyn, dyn, 3>>);
static_assert(is<decltype(tn::global_average_pool(some<f32<batch, dyn, dyn, channel>>())), f32<batch, channel>>);
static_assert(is<decltype(tn::max_pool2d<2>(some<ill_shaped>())), ill_shaped>);

static_assert(is<decltype(tn::softmax(some<f32<batch, 10>>())), f32<batch, 10>>);
static_assert(is<decltype(tn::log_softmax<0>(some<f32<batch, dyn, 10>>())), f32<batch, dyn, 10>>);
static_assert(is<decltype(tn::sparse_softmax_cross_entropy(some<f32<batch, 10>>(), some<i32<batch>>())), f32<batch>>);
static_assert(is<decltype(tn::sparse_softmax_cross_entropy(some<f32<dyn, 10>>(), some<i32<batch>>())), f32<batch>>);
static_assert(is<decltype(tn::sparse_softmax_cross_entropy(some<f32<10>>(), some<i32<>>())), f32<>>);
static_assert(is<decltype(tn::softmax_cross_entropy(some<f32<dyn, 10>>(), some<f32<batch, dyn>>())), f32<batch>>);
static_assert(is<decltype(tn::sparse_softmax_cross_entropy(some<ill_shaped>(), some<i32<batch>>())), ill_shaped>);
using sigmoid_loss = decltype(tn::sigmoid_cross_entropy(some<f32<dyn, 10>>(), some<f32<batch, 10>>()));
static_assert(is<sigmoid_loss::shape_type, shape<batch, 10>> && is<sigmoid_loss::element_type, float>);

static_assert(
    is<decltype(tn::layer_norm(some<f32<batch, 5, dyn>>(), some<f32<64>>(), some<f32<dyn>>())), f32<batch, 5, 64>>);
static_assert(is<decltype(tn::layer_norm(some<f32<batch, 5>>(), some<ill_shaped>(), some<f32<5>>())), ill_shaped>);

static_assert(
    is<decltype(tn::attention(some<f32<batch, 8, dyn, 64>>(), some<f32<dyn, 2, 7, 64>>(), some<f32<dyn, 2, 7, 5>>())),
       f32<batch, 8, dyn, 5>>);
static_assert(is<decltype(tn::attention(some<f32<batch, 8, 4, dyn>>(), some<f32<batch, dyn, dyn, 64>>(),
                                        some<f32<batch, 2, 7, 5>>(), some<i32<batch>>(), {.causal = true})),
                 f32<batch, 8, 4, 5>>);
static_assert(is<decltype(tn::attention(some<f32<5, 4>>(), some<f32<7, 4>>(), some<ill_shaped>())), ill_shaped>);

static_assert(is<decltype(tn::random_uniform<double, shape<2, 3>>()), tensor<double, shape<2, 3>>>);
static_assert(is<decltype(tn::random_normal()), f32<>>);
static_assert(is<decltype(tn::random_uniform_like(some<f32<batch, 3>>())), f32<batch, 3>>);
static_assert(
    is<decltype(tn::truncated_normal_like<tn::half>(some<i32<batch, 3>>())), tensor<tn::half, shape<batch, 3>>>);
static_assert(is<decltype(tn::random_integers_like(some<f32<batch, 3>>(), 0, 5)), i32<batch, 3>>);
static_assert(is<decltype(tn::random_permutation_like<std::int32_t>(some<f32<batch, 3>>())), i32<batch>>);
static_assert(is<decltype(tn::random_permutation<std::int64_t, shape<5>>()), tensor<std::int64_t, shape<5>>>);
static_assert(is<decltype(tn::random_shuffle(some<i32<batch, 3>>())), i32<batch, 3>>);
static_assert(is<decltype(tn::random_shuffle(some<ill_shaped>())), ill_shaped>);
static_assert(is<decltype(tn::random_normal_like(some<ill_shaped>())), ill_shaped>);
static_assert(is<decltype(tn::random_bernoulli<shape<4>>(0.5)), boolean<4>>);
static_assert(is<decltype(tn::random_bernoulli_like(some<f32<batch, 3>>(), 0.5)), boolean<batch, 3>>);
using dropped = decltype(tn::dropout(some<f32<batch, 3>>(), 0.5));
static_assert(is<dropped::shape_type, shape<batch, 3>> && is<dropped::element_type, float>);
static_assert(is<decltype(tn::dropout(some<ill_shaped>(), 0.5)), ill_shaped>);
static_assert(is<decltype(tn::dropout(some<f32<3>>(), 0.5, some<ill_shaped>())), ill_shaped>);

// The rules as values, where a graph that is read meets them.
constexpr tn::tensor_type image{tn::element_type::float32, {tn::extent::named("batch"), 8, 8, 4}};
constexpr tn::fault convolution_fault(const tn::tensor_type& window, const conv2d_options& o = {}) {
    const tn::tensor_type in[] = {image, window};
    return tn::conv2d_op::infer(tn::detail::attributes_of(o), tn::type_list(in, 2), 0).what;
}
constexpr auto f = tn::element_type::float32;
static_assert(convolution_fault({f, {3, 3, 4, 8}}) == tn::fault::none);
static_assert(convolution_fault({f, {3, 3, 3, 8}}) == tn::fault::channels_differ);
static_assert(convolution_fault({f, {3, 3, 8}}) == tn::fault::rank_must_be_4);
static_assert(convolution_fault({tn::element_type::float64, {3, 3, 4, 8}}) == tn::fault::element_types_differ);
static_assert(convolution_fault({f, {9, 3, 4, 8}}) == tn::fault::window_larger_than_input);
static_assert(convolution_fault({f, {9, 3, 4, 8}}, {.padding = same}) == tn::fault::none);
static_assert(convolution_fault({f, {9, 3, 4, 8}}, {.padding = pad(1)}) == tn::fault::none);
static_assert(convolution_fault({f, {3, 3, 1, 8}}, {.groups = 3}) == tn::fault::channels_not_divisible_by_groups);
static_assert(convolution_fault({f, {3, 3, 2, 9}}, {.groups = 2}) == tn::fault::channels_not_divisible_by_groups);
static_assert(convolution_fault({f, {3, 3, 4, 8}}, {.stride = 0}) == tn::fault::window_not_possible);

} // namespace
