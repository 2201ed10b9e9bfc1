#pragma once

#include <concepts>
#include <initializer_list>

#include <tenon/core/array/array.hpp>
#include <tenon/graph/tensor.hpp>

/// Calls that do not compile, and what to write instead: axes, sizes and windows are template arguments, so that the
/// compiler knows the result's shape, and who comes from other libraries gives them as ordinary ones. Each of these
/// functions fits only such a call.

namespace tenon {

struct margin;

namespace detail {
/// What an axis, a size or a list of them is written as where it is an ordinary argument.
struct misplaced {
    template <class N>
        requires(std::is_integral_v<N>)
    constexpr misplaced(N) {}                                      // NOLINT: it takes what is given
    constexpr misplaced(std::initializer_list<std::int64_t>) {}    // NOLINT
    template <auto... Dims> constexpr misplaced(shape<Dims...>) {} // NOLINT
    constexpr misplaced(const extents&) {}                         // NOLINT
};

/// A list of tensors, where they are given one by one; what braces make is one.
template <class X>
concept SeveralTensors = std::is_base_of_v<any_tensor, typename X::value_type>;

} // namespace detail

template <Operand X> ill_shaped sum(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::sum: an axis is a template argument: write sum<1>(x)");
    return {};
}
template <Operand X> ill_shaped mean(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::mean: an axis is a template argument: write mean<1>(x)");
    return {};
}
template <Operand X> ill_shaped prod(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::prod: an axis is a template argument: write prod<1>(x)");
    return {};
}
template <Operand X> ill_shaped min(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(
        detail::is_mistake<X>,
        "tenon::min: an axis is a template argument: write min<1>(x); the lesser of two tensors is minimum(a, b)");
    return {};
}
template <Operand X> ill_shaped max(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(
        detail::is_mistake<X>,
        "tenon::max: an axis is a template argument: write max<1>(x); the greater of two tensors is maximum(a, b)");
    return {};
}
template <Operand X> ill_shaped argmin(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::argmin: an axis is a template argument: write argmin<1>(x)");
    return {};
}
template <Operand X> ill_shaped argmax(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::argmax: an axis is a template argument: write argmax<1>(x)");
    return {};
}
template <Operand X> ill_shaped any(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::any: an axis is a template argument: write any<1>(x)");
    return {};
}
template <Operand X> ill_shaped all(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::all: an axis is a template argument: write all<1>(x)");
    return {};
}
template <Operand X>
ill_shaped count_nonzero(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::count_nonzero: an axis is a template argument: write count_nonzero<1>(x)");
    return {};
}
template <Operand X> ill_shaped logsumexp(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::logsumexp: an axis is a template argument: write logsumexp<1>(x)");
    return {};
}
template <Operand X> ill_shaped variance(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::variance: an axis is a template argument: write variance<1>(x)");
    return {};
}
template <Operand X>
ill_shaped standard_deviation(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::standard_deviation: an axis is a template argument: write standard_deviation<1>(x)");
    return {};
}
template <Operand X> ill_shaped moments(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::moments: an axis is a template argument: write moments<0>(x)");
    return {};
}
template <Operand X> ill_shaped softmax(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::softmax: an axis is a template argument: write softmax<1>(x)");
    return {};
}
template <Operand X> ill_shaped log_softmax(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::log_softmax: an axis is a template argument: write log_softmax<1>(x)");
    return {};
}
template <Operand X> ill_shaped cumsum(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::cumsum: an axis is a template argument: write cumsum<1>(x)");
    return {};
}
template <Operand X> ill_shaped cummin(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::cummin: an axis is a template argument: write cummin<1>(x)");
    return {};
}
template <Operand X> ill_shaped cummax(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::cummax: an axis is a template argument: write cummax<1>(x)");
    return {};
}
template <Operand X> ill_shaped cumprod(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::cumprod: an axis is a template argument: write cumprod<1>(x)");
    return {};
}
template <Operand X> ill_shaped transpose(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::transpose: axes are template arguments: write transpose<1, 0>(x)");
    return {};
}
template <Operand X> ill_shaped swapaxes(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::swapaxes: axes are template arguments: write swapaxes<0, 1>(x)");
    return {};
}
template <Operand X> ill_shaped moveaxis(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::moveaxis: axes are template arguments: write moveaxis<0, 1>(x)");
    return {};
}
template <Operand X> ill_shaped squeeze(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::squeeze: axes are template arguments: write squeeze<1>(x)");
    return {};
}
template <Operand X> ill_shaped expand_dims(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::expand_dims: axes are template arguments: write expand_dims<1>(x)");
    return {};
}
template <Operand X> ill_shaped flatten(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::flatten: the first axis to join is a template argument: write flatten<1>(x)");
    return {};
}
template <Operand X> ill_shaped reverse(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::reverse: axes are template arguments: write reverse<1>(x)");
    return {};
}
template <Operand X> ill_shaped norm(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::norm: the order is a template argument: write norm<2>(x); axes follow it");
    return {};
}
template <Operand X> ill_shaped split(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::split: parts and axis are template arguments: write split<2, 1>(x): 2 parts along axis 1");
    return {};
}
template <Operand X>
ill_shaped split_evenly(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::split_evenly: parts and axis are template arguments: write "
                                         "split_evenly<3, 1>(x): 3 parts along axis 1");
    return {};
}
template <Operand X> ill_shaped unstack(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(
        detail::is_mistake<X>,
        "tenon::unstack: parts and axis are template arguments: write unstack<2, 1>(x): 2 parts along axis 1");
    return {};
}
template <Operand X> ill_shaped reshape(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::reshape: the sizes are a template argument: write reshape<shape<batch, 28, 28>>(x)");
    return {};
}
template <Operand X>
ill_shaped broadcast_to(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::broadcast_to: the sizes are a template argument: write broadcast_to<shape<4, 300>>(x)");
    return {};
}
template <Operand X> ill_shaped tile(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::tile: the counts are template arguments: write tile<2, 1>(x)");
    return {};
}
template <Operand X> ill_shaped repeat(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::repeat: the count is a template argument: write repeat<2>(x)");
    return {};
}
template <Operand X> ill_shaped roll(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>, "tenon::roll: the shift is a template argument: write roll<1>(x)");
    return {};
}
template <Operand X>
ill_shaped max_pool2d(const X&, detail::misplaced = 0, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::max_pool2d: the window is a template argument: write max_pool2d<2>(x)");
    return {};
}
template <Operand X>
ill_shaped average_pool2d(const X&, detail::misplaced = 0, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::average_pool2d: the window is a template argument: write average_pool2d<2>(x)");
    return {};
}
template <auto... Sizes, Operand X>
    requires(sizeof...(Sizes) > 0)
ill_shaped reshape(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::reshape: the sizes are a shape: write reshape<shape<batch, 28, 28>>(x)");
    return {};
}
template <int = 0, class Name>
    requires(std::is_convertible_v<const Name&, std::string>)
ill_shaped placeholder(const Name&) {
    static_assert(detail::is_mistake<Name>, "tenon::placeholder: give its element type and sizes: write "
                                            "placeholder<float, shape<batch, 784>>(name)");
    return {};
}
template <class T, auto... Sizes>
    requires(sizeof...(Sizes) > 0)
ill_shaped placeholder(const std::string&) {
    static_assert(detail::is_mistake<T>, "tenon::placeholder: the sizes are a shape: write "
                                         "placeholder<float, shape<batch, 784>>(name)");
    return {};
}
template <Shape S, Element T> ill_shaped placeholder(const std::string&) {
    static_assert(detail::is_mistake<T>, "tenon::placeholder: the element type comes first: write "
                                         "placeholder<float, shape<batch, 784>>(name)");
    return {};
}
template <class T, auto Size, auto... Sizes, class How> ill_shaped variable(const std::string&, const How&) {
    static_assert(detail::is_mistake<T>, "tenon::variable: the sizes are a shape: write "
                                         "variable<float, shape<784, 10>>(name, zeros())");
    return {};
}
template <Operand X, Operand I> ill_shaped gather(const X&, const I&, detail::misplaced) {
    static_assert(detail::is_mistake<X>, "tenon::gather: the axis is a template argument: write gather<1>(x, indices)");
    return {};
}
template <class... X> ill_shaped concat(const X&...) {
    static_assert(detail::is_mistake<X...>, "tenon::concat: the axis is a template argument: write concat<1>(x, y)");
    return {};
}
template <class... X> ill_shaped stack(const X&...) {
    static_assert(detail::is_mistake<X...>, "tenon::stack: the axis is a template argument: write stack<0>(x, y)");
    return {};
}
template <int Axis, detail::SeveralTensors X = std::initializer_list<any_tensor>> ill_shaped concat(const X&) {
    static_assert(detail::is_mistake<X>, "tenon::concat: tensors are given one by one: concat<1>(x, y); of a list that "
                                         "has its length in the run write untyped::concat(list, 1)");
    return {};
}
template <int Axis, detail::SeveralTensors X = std::initializer_list<any_tensor>> ill_shaped stack(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::stack: tensors are given one by one: stack<0>(x, y); of a list that has "
                  "its length in the run write untyped::stack(list, 0)");
    return {};
}
template <Operand X> ill_shaped constant(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::constant: it makes a tensor of numbers, texts or an array; this is a tensor");
    return {};
}
template <class... X> ill_shaped print(const char*, const X&...) {
    static_assert(detail::is_mistake<X...>,
                  "tenon::print: first the tensor, which it gives again: print(x, \"x is\", more..)");
    return {};
}
template <Operand X> ill_shaped slice(const X&, detail::misplaced, detail::misplaced = 0, detail::misplaced = 0) {
    static_assert(detail::is_mistake<X>,
                  "tenon::slice: ranges are template arguments: write slice<range{0, 10}>(x); that "
                  "begins where the run tells is slice<10>(x, begin)");
    return {};
}
template <Operand X> ill_shaped one_hot(const X&, detail::misplaced) {
    static_assert(detail::is_mistake<X>, "tenon::one_hot: the depth is a template argument: write one_hot<10>(labels)");
    return {};
}
template <Operand X> ill_shaped cast(const X&, element_type) {
    static_assert(detail::is_mistake<X>, "tenon::cast: the element type is a template argument: write cast<float>(x)");
    return {};
}
template <Operand X, Operand W, class Options> ill_shaped conv2d(const X&, const W&, const Options&) {
    static_assert(detail::is_mistake<X>, "tenon::conv2d: stride and padding are template arguments: write "
                                         "conv2d<2, same>(x, w) or conv2d<conv2d_options{..}>(x, w)");
    return {};
}
template <Operand X> ill_shaped top_k(const X&, detail::misplaced) {
    static_assert(detail::is_mistake<X>, "tenon::top_k: how many is a template argument: write top_k<5>(x)");
    return {};
}
// A number alone: g++ would take {.descending = true} for a list of them.
template <Operand X, std::integral N> ill_shaped sort(const X&, N) {
    static_assert(detail::is_mistake<X>,
                  "tenon::sort: the axis is a template argument: write sort<1>(x), or sort(x, {.descending = true})");
    return {};
}
template <Operand X, std::integral N> ill_shaped argsort(const X&, N) {
    static_assert(detail::is_mistake<X>, "tenon::argsort: the axis is a template argument: write argsort<1>(x), or "
                                         "argsort(x, {.descending = true})");
    return {};
}
template <class Text, class... X>
    requires(std::is_convertible_v<const Text&, std::string>)
ill_shaped einsum(const Text&, const X&...) {
    static_assert(detail::is_mistake<Text>,
                  "tenon::einsum: the letters are a template argument: write einsum<\"ij,jk->ik\">(a, b)");
    return {};
}
template <auto... P, Operand X, class Mode>
    requires((!std::is_same_v<std::remove_cvref_t<decltype(P)>, margin> || ...) ||
             std::is_convertible_v<const Mode&, std::string>)
ill_shaped pad(const X&, const Mode&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::pad: it is written pad<margin{1, 2}>(x), with a margin for each axis, or "
                  "pad<margin{1, 2}>(x, pad_mode::reflect)");
    return {};
}
template <auto... Sizes> ill_shaped random_normal(shape<Sizes...>, double = 0, double = 1) {
    static_assert(detail::is_mistake<shape<Sizes...>>,
                  "tenon::random_normal: the sizes are a template argument: write random_normal<float, shape<2, 3>>()");
    return {};
}
template <auto... Sizes> ill_shaped random_uniform(shape<Sizes...>, double = 0, double = 1) {
    static_assert(
        detail::is_mistake<shape<Sizes...>>,
        "tenon::random_uniform: the sizes are a template argument: write random_uniform<float, shape<2, 3>>()");
    return {};
}
} // namespace tenon
