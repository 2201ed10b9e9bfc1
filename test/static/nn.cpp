#include <tenon/nn/convolution.hpp>
#include <tenon/nn/dense.hpp>
#include <tenon/nn/dropout.hpp>
#include <tenon/nn/flatten.hpp>
#include <tenon/nn/losses.hpp>
#include <tenon/nn/pooling.hpp>
#include <tenon/nn/sequential.hpp>
#include <tenon/train/optimize/optimizers.hpp>

// Result types of layers: all of these are decided by the compiler.

namespace tn = tenon;
namespace nn = tenon::nn;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct steps : tn::dim<"steps"> {} steps;

template <class T, auto... D> using given = tn::tensor<T, tn::shape<D...>>;

template <class Layer, class X, class Result>
concept gives = std::is_same_v<decltype(std::declval<const Layer&>()(std::declval<const X&>())), Result>;

// dense: static, named and dynamic sizes before the last one
static_assert(gives<nn::dense_layer<300>, given<float, batch, 784>, given<float, batch, 300>>);
static_assert(gives<nn::dense_layer<300, nn::relu_activation>, given<double, 50, 784>, given<double, 50, 300>>);
static_assert(gives<nn::dense_layer<7>, given<tn::half, tn::dyn, 3>, given<tn::half, tn::dyn, 7>>);
static_assert(gives<nn::dense_layer<7>, given<float, batch, steps, 3>, given<float, batch, steps, 7>>);
static_assert(gives<nn::dense_layer<7>, tn::ill_shaped, tn::ill_shaped>);

// convolution and pooling
inline constexpr tn::conv2d_options strided{.stride = 2, .padding = tn::same};
inline constexpr tn::conv2d_options grouped{.groups = 2};
static_assert(gives<nn::conv2d_layer<32, 5>, given<float, batch, 28, 28, 1>, given<float, batch, 24, 24, 32>>);
static_assert(gives<nn::conv2d_layer<8, 3, strided>, given<float, batch, 28, 27, 3>, given<float, batch, 14, 14, 8>>);
static_assert(gives<nn::conv2d_layer<4, tn::height_width{1, 3}, grouped>, given<float, 2, tn::dyn, 9, 6>,
                    given<float, 2, tn::dyn, 7, 4>>);
static_assert(gives<nn::conv2d_layer<4, 3>, tn::ill_shaped, tn::ill_shaped>);
static_assert(gives<nn::max_pool<2>, given<float, batch, 28, 28, 3>, given<float, batch, 14, 14, 3>>);
static_assert(gives<nn::average_pool<3, 2, tn::same>, given<float, batch, 28, 28, 3>, given<float, batch, 14, 14, 3>>);
static_assert(gives<nn::global_average_pool, given<float, batch, 28, 28, 3>, given<float, batch, 3>>);

// shapes
static_assert(gives<nn::flatten, given<float, batch, 4, 4, 8>, given<float, batch, 128>>);
static_assert(gives<nn::flatten, given<float, 3, 4>, given<float, 3, 4>>);
static_assert(gives<nn::flatten, given<float, batch>, given<float, batch, 1>>);
static_assert(gives<nn::reshaped_to<2, 8>, given<int, batch, 16>, given<int, batch, 2, 8>>);

// dropout keeps types, in both phases
static_assert(gives<nn::dropout, given<float, batch, 5>, given<float, batch, 5>>);
static_assert(
    std::is_same_v<decltype(nn::dropout(0.5)(std::declval<given<double, 5>>(), nn::training)), given<double, 5>>);
static_assert(gives<nn::switched_dropout<given<bool>>, given<float, batch, 5>, given<float, batch, 5>>);

// a model is a layer
using model =
    nn::sequential<nn::reshaped_to<28, 28, 1>, nn::conv2d_layer<16, 5, tn::conv2d_options{}, nn::relu_activation>,
                   nn::max_pool<2>, nn::flatten, nn::dense_layer<10>>;
static_assert(gives<model, given<float, batch, 784>, given<float, batch, 10>>);
static_assert(gives<nn::sequential<model, nn::dense_layer<2>>, given<float, 7, 784>, given<float, 7, 2>>);
static_assert(gives<nn::sequential<>, given<float, batch>, given<float, batch>>);
static_assert(gives<model, tn::ill_shaped, tn::ill_shaped>);

// losses are scalars; what was a mistake before stays silent
using logits = given<float, batch, 10>;
using labels = given<std::int32_t, batch>;
static_assert(
    std::is_same_v<decltype(nn::cross_entropy(std::declval<logits>(), std::declval<labels>())), given<float>>);
static_assert(std::is_same_v<decltype(nn::accuracy(std::declval<logits>(), std::declval<labels>())), given<float>>);
static_assert(std::is_same_v<decltype(nn::predicted_class(std::declval<logits>())), labels>);
static_assert(
    std::is_same_v<decltype(nn::mean_squared_error(tn::ill_shaped{}, std::declval<labels>())), tn::ill_shaped>);
static_assert(std::is_same_v<decltype(tn::adam().minimize(tn::ill_shaped{})), tn::operation>);
static_assert(std::is_same_v<decltype(tn::adam().minimize(std::declval<given<float>>())), tn::operation>);

} // namespace
