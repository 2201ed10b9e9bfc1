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
    constexpr misplaced(const char*) {}                            // NOLINT
};

struct misplaced_or_tensor : misplaced {
    using misplaced::misplaced;
    template <Operand X> constexpr misplaced_or_tensor(const X&) : misplaced(0) {}      // NOLINT
    template <std::floating_point X> constexpr misplaced_or_tensor(X) : misplaced(0) {} // NOLINT
};
// As a template argument: a number, the name of a size, or, which g++ takes, a list in braces.
struct misplaced_axis {
    consteval misplaced_axis(int) {}                                         // NOLINT
    consteval misplaced_axis(std::initializer_list<int>) : mistaken(true) {} // NOLINT
    template <class D>
        requires requires { D::name; }
    consteval misplaced_axis(const D&) : mistaken(true) {} // NOLINT
    bool mistaken = false;
};
// What is given behind a tensor, where an axis was said: a bool, or nothing where the axis is none.
struct nothing_behind {};
template <misplaced_axis Axis, class Kept>
concept MisplacedAxis = std::is_same_v<Kept, bool> ||(std::is_same_v<Kept, nothing_behind>&& Axis.mistaken);

/// A list of tensors, where they are given one by one; what braces make is one.
template <class X>
concept SeveralTensors = std::is_base_of_v<any_tensor, typename X::value_type>;

/// Whether an array or a text stands beside what arithmetic is of.
template <class X>
concept Computed = is_on_the_host<X> || Operand<X> || UntypedTensor<X> || AsNumber<X>;
template <class A, class B>
inline constexpr bool is_host_arithmetic = (is_on_the_host<A> || is_on_the_host<B>)&&Computed<A>&& Computed<B> &&
                                           !(Operand<A> || Operand<B>);
template <class A, class B>
    requires(!any_ill_shaped<A, B> &&
             (std::is_convertible_v<const A&, std::string> || std::is_convertible_v<const B&, std::string>))
inline constexpr bool is_host_arithmetic<A, B> = Computed<A> || Computed<B>;

template <class...> inline constexpr bool is_placeholder_type = false;
template <Element T> inline constexpr bool is_placeholder_type<T> = true;
template <Element T, Shape S> inline constexpr bool is_placeholder_type<T, S> = true;

/// The complaints of several functions, which the compiler names beside them.
template <class X> ill_shaped an_axis_is_a_template_argument() {
    static_assert(is_mistake<X>, "tenon: an axis is a template argument: write sum<1>(x), softmax<1>(x), or sum<1>(x, "
                                 "keepdims); it is a number");
    return {};
}
template <class X> ill_shaped axes_are_template_arguments() {
    static_assert(is_mistake<X>, "tenon: axes are template arguments: write transpose<1, 0>(x), squeeze<1>(x)");
    return {};
}
template <class X> ill_shaped parts_are_a_template_argument() {
    static_assert(is_mistake<X>,
                  "tenon: parts and axis are template arguments: write split<2, 1>(x): 2 parts along axis 1");
    return {};
}
template <class X> ill_shaped a_count_is_a_template_argument() {
    static_assert(is_mistake<X>, "tenon: depths, counts and windows are template arguments: write one_hot<10>(x), "
                                 "tile<2, 1>(x), max_pool2d<2>(x)");
    return {};
}
template <class X> ill_shaped sizes_are_a_template_argument() {
    static_assert(is_mistake<X>,
                  "tenon: element type and sizes are template arguments: write zeros<float, shape<2, 3>>()");
    return {};
}
template <class... X> ill_shaped the_axis_is_a_template_argument() {
    static_assert(is_mistake<X...>, "tenon: the axis is a template argument: write concat<1>(x, y), stack<0>(x, y)");
    return {};
}
template <class X> ill_shaped tensors_are_given_one_by_one() {
    static_assert(is_mistake<X>, "tenon: tensors are given one by one: concat<1>(x, y), stack<0>(x, y); of a list that "
                                 "has its length in the run write untyped::concat(list, 1)");
    return {};
}
template <class X> ill_shaped arrays_and_texts_are_no_tensors() {
    static_assert(is_mistake<X>, "tenon: arrays and texts are no tensors: constant(a.copy()) makes one; a loop over "
                                 "a.span() computes here, as d.map(f) does of a data set");
    return {};
}
template <class X> ill_shaped texts_are_compared_by_string_equal() {
    static_assert(is_mistake<X>, "tenon: texts are compared by string_equal(x, constant(text)), in tenon/input.hpp");
    return {};
}
/// What select and pow are given by mistake: other calls are of other functions.
template <class X>
concept Selected = !UntypedTensor<X> &&
                   (Operand<X> || is_on_the_host<X> || AsNumber<X> || std::is_convertible_v<const X&, std::string>);
template <class X>
concept TensorOfTexts = std::is_same_v<typename X::element_type, std::string>;
template <class A, class B> inline constexpr bool are_texts = TensorOfTexts<A> || TensorOfTexts<B>;

} // namespace detail

// Of what stands in a macro compilers show the macro too, but not of its arguments.
// An axis, a size or a list of them behind the tensor; a tensor there, or none at all; an element type where an axis is said.
#define TENON_HINT(NAME, SAID)                                                                                        \
    template <Operand X, class... M> ill_shaped NAME(const X&, detail::misplaced, M...) { return detail::SAID<X>(); } \
    template <auto..., class X = void> ill_shaped NAME(detail::any_argument = {}, detail::any_argument = {}) {        \
        return detail::SAID<X>();                                                                                     \
    }                                                                                                                 \
    template <Element, Operand X> ill_shaped NAME(const X&) { return detail::SAID<X>(); }                             \
    template <detail::misplaced_axis Axis, auto..., Operand X, class Kept = detail::nothing_behind>                   \
        requires detail::MisplacedAxis<Axis, Kept> ill_shaped NAME(const X&, Kept = {}) { return detail::SAID<X>(); }
TENON_HINT(sum, an_axis_is_a_template_argument)
TENON_HINT(mean, an_axis_is_a_template_argument)
TENON_HINT(prod, an_axis_is_a_template_argument)
TENON_HINT(argmin, an_axis_is_a_template_argument)
TENON_HINT(argmax, an_axis_is_a_template_argument)
TENON_HINT(any, an_axis_is_a_template_argument)
TENON_HINT(all, an_axis_is_a_template_argument)
TENON_HINT(count_nonzero, an_axis_is_a_template_argument)
TENON_HINT(logsumexp, an_axis_is_a_template_argument)
TENON_HINT(variance, an_axis_is_a_template_argument)
TENON_HINT(standard_deviation, an_axis_is_a_template_argument)
TENON_HINT(moments, an_axis_is_a_template_argument)
TENON_HINT(softmax, an_axis_is_a_template_argument)
TENON_HINT(log_softmax, an_axis_is_a_template_argument)
TENON_HINT(cumsum, an_axis_is_a_template_argument)
TENON_HINT(cummin, an_axis_is_a_template_argument)
TENON_HINT(cummax, an_axis_is_a_template_argument)
TENON_HINT(cumprod, an_axis_is_a_template_argument)
TENON_HINT(transpose, axes_are_template_arguments)
TENON_HINT(swapaxes, axes_are_template_arguments)
TENON_HINT(moveaxis, axes_are_template_arguments)
TENON_HINT(squeeze, axes_are_template_arguments)
TENON_HINT(expand_dims, axes_are_template_arguments)
TENON_HINT(reverse, axes_are_template_arguments)
TENON_HINT(flatten, axes_are_template_arguments)
TENON_HINT(split, parts_are_a_template_argument)
TENON_HINT(split_evenly, parts_are_a_template_argument)
TENON_HINT(unstack, parts_are_a_template_argument)
TENON_HINT(one_hot, a_count_is_a_template_argument)
TENON_HINT(top_k, a_count_is_a_template_argument)
TENON_HINT(tile, a_count_is_a_template_argument)
TENON_HINT(repeat, a_count_is_a_template_argument)
TENON_HINT(roll, a_count_is_a_template_argument)
TENON_HINT(max_pool2d, a_count_is_a_template_argument)
TENON_HINT(average_pool2d, a_count_is_a_template_argument)
#undef TENON_HINT
template <Operand X> ill_shaped norm(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::norm: the order is a template argument: write norm<2>(x); axes follow it");
    return {};
}
template <class S, class X = void> ill_shaped full() {
    static_assert(detail::is_mistake<X>, "tenon::full: say of what: full<shape<2, 3>>(1.0f)");
    return {};
}
template <auto..., class X = void> ill_shaped constant() {
    static_assert(detail::is_mistake<X>, "tenon::constant: say of what: constant(1.0f), constant({1.0f, 2.0f})");
    return {};
}
template <Operand A, class N = detail::nothing_behind>
    requires(std::is_arithmetic_v<N> || std::is_same_v<N, detail::nothing_behind>)
ill_shaped matmul(const A&, N = {}) {
    static_assert(detail::is_mistake<A>, "tenon::matmul: it takes two tensors: matmul(a, b); by a number is a * 2.0f");
    return {};
}
template <Operand X, class... M> ill_shaped einsum(const X&, const M&...) {
    static_assert(detail::is_mistake<X>,
                  "tenon::einsum: the letters are a template argument: write einsum<\"ij,jk->ik\">(a, b)");
    return {};
}
// What shapes are compared with.
template <class A, auto... D>
    requires(Operand<A> || std::is_same_v<A, tensor_type> || std::is_same_v<A, extents>)
bool operator==(const A&, const shape<D...>&) {
    static_assert(
        detail::is_mistake<A>,
        "tenon: a shape is a type: the sizes of one are shape<batch, 784>::extents, those of a tensor x.extents(), and "
        "x.type() has an element type besides");
    return false;
}
// Without an axis.
template <Operand X> ill_shaped cumsum(const X&) { return detail::an_axis_is_a_template_argument<X>(); }
template <Operand X> ill_shaped cummin(const X&) { return detail::an_axis_is_a_template_argument<X>(); }
template <Operand X> ill_shaped cummax(const X&) { return detail::an_axis_is_a_template_argument<X>(); }
template <Operand X> ill_shaped cumprod(const X&) { return detail::an_axis_is_a_template_argument<X>(); }
template <Operand X> ill_shaped one_hot(const X&) { return detail::a_count_is_a_template_argument<X>(); }
template <Operand X> ill_shaped max_pool2d(const X&) { return detail::a_count_is_a_template_argument<X>(); }
template <Operand X> ill_shaped average_pool2d(const X&) { return detail::a_count_is_a_template_argument<X>(); }
template <Operand X, class... M> ill_shaped min(const X&, detail::misplaced_or_tensor, M...) {
    static_assert(
        detail::is_mistake<X>,
        "tenon::min: an axis is a template argument: write min<1>(x); the lesser of two tensors is minimum(a, b)");
    return {};
}
template <Operand X, class... M> ill_shaped max(const X&, detail::misplaced_or_tensor, M...) {
    static_assert(
        detail::is_mistake<X>,
        "tenon::max: an axis is a template argument: write max<1>(x); the greater of two tensors is maximum(a, b)");
    return {};
}
template <class... T, class... X> ill_shaped full(detail::misplaced, const X&...) {
    static_assert(detail::is_mistake<X...>,
                  "tenon::full: the sizes are a template argument: write full<shape<2, 3>>(1.0f)");
    return {};
}
template <Operand X, class... M> ill_shaped norm(const X&, detail::misplaced, M...) {
    static_assert(detail::is_mistake<X>,
                  "tenon::norm: the order is a template argument: write norm<2>(x); axes follow it");
    return {};
}
template <Operand X, class... M> ill_shaped reshape(const X&, detail::misplaced, M...) {
    static_assert(detail::is_mistake<X>,
                  "tenon::reshape: the sizes are a template argument: write reshape<shape<batch, 28, 28>>(x)");
    return {};
}
template <Operand X, class... M> ill_shaped broadcast_to(const X&, detail::misplaced, M...) {
    static_assert(detail::is_mistake<X>,
                  "tenon::broadcast_to: the sizes are a template argument: write broadcast_to<shape<4, 300>>(x)");
    return {};
}
template <Operand X, class... M> ill_shaped slice(const X&, detail::misplaced, M...) {
    static_assert(detail::is_mistake<X>, "tenon::slice: ranges are template arguments: write slice<range{0, 10}>(x); "
                                         "that begins where the run tells is slice<10>(x, begin)");
    return {};
}
#define TENON_HINT(NAME, AXIS, LIST)                                                                              \
    template <class... X> ill_shaped NAME(const X&...) { return detail::AXIS<X...>(); }                           \
    template <int Axis, detail::SeveralTensors X = std::initializer_list<any_tensor>> ill_shaped NAME(const X&) { \
        return detail::LIST<X>();                                                                                 \
    }                                                                                                             \
    template <detail::misplaced_axis Axis, class... X>                                                            \
        requires(Axis.mistaken)                                                                                   \
    ill_shaped NAME(const X&...) { return detail::AXIS<X...>(); }
TENON_HINT(concat, the_axis_is_a_template_argument, tensors_are_given_one_by_one)
TENON_HINT(stack, the_axis_is_a_template_argument, tensors_are_given_one_by_one)
#undef TENON_HINT
#define TENON_HINT(NAME, SAID, FITS)                                                                                  \
    template <class T = void, auto... D, class... M> ill_shaped NAME(shape<D...>, M...) { return detail::SAID<T>(); } \
    template <class T = void> ill_shaped NAME(std::initializer_list<int>) { return detail::SAID<T>(); }               \
    template <class T = void> ill_shaped NAME(const char*, detail::misplaced = 0) { return detail::SAID<T>(); }       \
    template <class T = void, std::integral... N>                                                                     \
        requires(sizeof...(N) > 0 && (FITS))                                                                          \
    ill_shaped NAME(N...) { return detail::SAID<T>(); }                                                               \
    template <Shape S, class T = void, class... M> ill_shaped NAME(M...) { return detail::SAID<S>(); }                \
    template <class T, auto Size, auto..., class... M> ill_shaped NAME(M...) { return detail::SAID<T>(); }
TENON_HINT(zeros, sizes_are_a_template_argument, true)
TENON_HINT(ones, sizes_are_a_template_argument, true)
TENON_HINT(random_normal, sizes_are_a_template_argument, std::is_void_v<T>) // else they are bounds
TENON_HINT(random_uniform, sizes_are_a_template_argument, std::is_void_v<T>)
#undef TENON_HINT
#define TENON_HINT(SIGN, SAID)                     \
    template <class A, class B>                    \
        requires(detail::is_host_arithmetic<A, B>) \
    ill_shaped operator SIGN(const A&, const B&) { return detail::SAID<A>(); }
TENON_HINT(+, arrays_and_texts_are_no_tensors)
TENON_HINT(-, arrays_and_texts_are_no_tensors)
TENON_HINT(*, arrays_and_texts_are_no_tensors)
TENON_HINT(/, arrays_and_texts_are_no_tensors)
TENON_HINT(<, arrays_and_texts_are_no_tensors)
TENON_HINT(<=, arrays_and_texts_are_no_tensors)
TENON_HINT(>, arrays_and_texts_are_no_tensors)
TENON_HINT(>=, arrays_and_texts_are_no_tensors)
#undef TENON_HINT
#define TENON_HINT(SIGN, SAID, FITS)                                                     \
    template <class A, class B>                                                          \
        requires(detail::is_host_arithmetic<A, B> && (Operand<A> || Operand<B>)&&(FITS)) \
    ill_shaped operator SIGN(const A&, const B&) { return detail::SAID<A>(); }
TENON_HINT(==, arrays_and_texts_are_no_tensors, (!detail::are_texts<A, B>))
TENON_HINT(!=, arrays_and_texts_are_no_tensors, (!detail::are_texts<A, B>))
TENON_HINT(==, texts_are_compared_by_string_equal, (detail::are_texts<A, B>))
TENON_HINT(!=, texts_are_compared_by_string_equal, (detail::are_texts<A, B>))
#undef TENON_HINT
template <Element T, class Name, class... M> ill_shaped placeholder(const Name&, detail::misplaced, M...) {
    static_assert(detail::is_mistake<T>, "tenon::placeholder: the sizes are a template argument: write "
                                         "placeholder<float, shape<batch, 784>>(name)");
    return {};
}
template <class... Type, class Name>
    requires(!detail::is_placeholder_type<Type...> && std::is_convertible_v<const Name&, std::string>)
ill_shaped placeholder(const Name&) {
    static_assert(detail::is_mistake<Name>, "tenon::placeholder: give its element type and sizes: write "
                                            "placeholder<float, shape<batch, 784>>(name)");
    return {};
}
template <element_type T, class... S> ill_shaped placeholder(const std::string& = {}) {
    static_assert(detail::is_mistake<S...>, "tenon::placeholder: its element type is a type: write "
                                            "placeholder<float, shape<batch, 784>>(name)");
    return {};
}
template <class T, auto Size, auto... Sizes> ill_shaped placeholder(const std::string&) {
    static_assert(detail::is_mistake<T>, "tenon::placeholder: the sizes are a shape: write "
                                         "placeholder<float, shape<batch, 784>>(name)");
    return {};
}
template <auto... Sizes, Operand X>
    requires(sizeof...(Sizes) > 0)
ill_shaped reshape(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::reshape: the sizes are a shape: write reshape<shape<batch, 28, 28>>(x)");
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
template <Operand X> ill_shaped constant(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::constant: it makes a tensor of numbers, texts or an array; this is a tensor");
    return {};
}
// Braces make the default, where no list of one type or of equal rows can be made of them.
template <class X = detail::in_braces>
    requires(!Operand<X> && !Element<X> && !std::is_convertible_v<const X&, const any_array&> &&
             !std::is_convertible_v<const X&, const char*>)
ill_shaped constant(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::constant: it makes a tensor of a number, a text, a list in braces whose elements have one "
                  "type and whose rows are equally long, or an array: constant(array<float, shape<3>>(values))");
    return {};
}
template <Shape S, class X = detail::in_braces>
    requires(!std::is_convertible_v<const X&, const any_array&>)
ill_shaped constant(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::constant: a list in braces has a shape: constant({1.0f, 2.0f}); one that "
                  "is said is an array's, constant<shape<3>>(a)");
    return {};
}
template <Operand X, class N = std::initializer_list<int>>
    requires(std::is_integral_v<N> || std::is_same_v<N, std::initializer_list<int>>)
ill_shaped gather(const X&, const N&) {
    static_assert(detail::is_mistake<X>, "tenon::gather: what is gathered is said by a tensor of integers: "
                                         "gather(x, constant({0, 2})), one row gather(x, constant(0))");
    return {};
}
template <Operand X> ill_shaped print(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::print: say what it is: print(x, \"x is\"), which gives x again; or run x: session.run(x)");
    return {};
}
template <class... X> ill_shaped print(const char*, const X&...) {
    static_assert(detail::is_mistake<X...>,
                  "tenon::print: first the tensor, which it gives again: print(x, \"x is\", more..)");
    return {};
}
template <Operand X, class... M> ill_shaped cast(const X&, M...) {
    static_assert(detail::is_mistake<X>, "tenon::cast: the element type is a template argument: write cast<float>(x)");
    return {};
}
template <detail::Selected... X> ill_shaped select(const X&...) {
    static_assert(detail::is_mistake<X...>,
                  "tenon::select: a condition, then two tensors, or a tensor and a number: select(x > 0.0f, x, 0.0f)");
    return {};
}
template <detail::Selected... X> ill_shaped where(const X&...) {
    static_assert(detail::is_mistake<X...>, "tenon::where: a condition, then two tensors, or a tensor and a number: "
                                            "where(x > 0.0f, x, 0.0f); where one is true says nonzero(condition)");
    return {};
}
template <detail::Selected... X> ill_shaped pow(const X&...) {
    static_assert(detail::is_mistake<X...>, "tenon::pow: two tensors, or a tensor and a number: pow(x, 2.0f)");
    return {};
}
template <element_type, Operand X> ill_shaped cast(const X&) {
    static_assert(detail::is_mistake<X>, "tenon::cast: the element type is a type: write cast<float>(x)");
    return {};
}
template <fixed_string Type, Operand X> ill_shaped cast(const X&) {
    static_assert(detail::is_mistake<X>, "tenon::cast: the element type is a type: write cast<float>(x)");
    return {};
}
template <class T, Operand X>
    requires(!Element<T> && !Operand<T>)
ill_shaped cast(const X&) {
    static_assert(detail::is_mistake<X>, "tenon::cast: elements are float, double, half, bfloat16, bool, std::string, "
                                         "or std::int8_t to std::uint64_t");
    return {};
}
template <Operand A, Operand B, class... Transposed> ill_shaped matmul(const A&, const B&, bool, Transposed...) {
    static_assert(detail::is_mistake<A>, "tenon::matmul: what is transposed is a template argument: write "
                                         "matmul<transpose_b>(a, b)");
    return {};
}
template <Operand X, class Bound = detail::in_braces> ill_shaped clip(const X&, const Bound& = {}) {
    static_assert(detail::is_mistake<X>, "tenon::clip: the least and the largest value: clip(x, 0.0f, 1.0f)");
    return {};
}
template <std::integral... N> ill_shaped arange(N...) {
    static_assert(detail::is_mistake<N...>, "tenon::arange: element type and number are template arguments: write "
                                            "arange<float, 10>(), or arange<float, 10>(first, step)");
    return {};
}
template <std::integral... N>
    requires(sizeof...(N) > 0)
ill_shaped eye(N...) {
    static_assert(detail::is_mistake<N...>,
                  "tenon::eye: element type and size are template arguments: write eye<float, 3>()");
    return {};
}
template <class A, class B>
    requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>)
ill_shaped linspace(A, B, int) {
    static_assert(detail::is_mistake<A>, "tenon::linspace: element type and number are template arguments: write "
                                         "linspace<float, 10>(first, last)");
    return {};
}
template <auto... Ranges, Operand X>
    requires(sizeof...(Ranges) > 0 && (std::is_integral_v<std::remove_cvref_t<decltype(Ranges)>> && ...))
ill_shaped slice(const X&) {
    static_assert(detail::is_mistake<X>, "tenon::slice: a range for each axis: write slice<range{0, 10}>(x)");
    return {};
}
template <Operand X, Operand W, class Options> ill_shaped conv2d(const X&, const W&, const Options&) {
    static_assert(detail::is_mistake<X>, "tenon::conv2d: stride and padding are template arguments: write "
                                         "conv2d<2, same>(x, w) or conv2d<conv2d_options{..}>(x, w)");
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
template <auto... P, Operand X, class Mode = detail::nothing_behind>
    requires((!std::is_same_v<std::remove_cvref_t<decltype(P)>, margin> || ...) ||
             std::is_convertible_v<const Mode&, std::string>)
ill_shaped pad(const X&, const Mode& = {}) {
    static_assert(detail::is_mistake<X>,
                  "tenon::pad: it is written pad<margin{1, 2}>(x), with a margin for each axis, or "
                  "pad<margin{1, 2}>(x, pad_mode::reflect)");
    return {};
}

namespace untyped {
template <std::derived_from<any_tensor> X, class... M> any_tensor concat(const X&, const M&...) {
    static_assert(detail::is_mistake<X>, "tenon::untyped::concat: tensors are given as a list: concat({a, b}, 1)");
    return {};
}
template <std::derived_from<any_tensor> X, class... M> any_tensor stack(const X&, const M&...) {
    static_assert(detail::is_mistake<X>, "tenon::untyped::stack: tensors are given as a list: stack({a, b}, 0)");
    return {};
}
} // namespace untyped
} // namespace tenon
