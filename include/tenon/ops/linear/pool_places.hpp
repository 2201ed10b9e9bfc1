#pragma once

#include <tuple>
#include <vector>

#include <tenon/ops/linear/windows.hpp>

/// The largest elements of windows, and where they lie.
///
///     auto [y, at] = tn::max_pool2d_with_indices<2>(x);   // [b, 28, 28, c] -> [b, 14, 14, c], int64[b, 14, 14, c]
///
/// A place counts the elements of a line, image or volume: row * width + column of an image, (plane * height + row) * width + column of a
/// volume. Of equal largest elements it is the first. Gradients flow to the values.

namespace tenon {

namespace untyped {
/// The values, and their places.
std::vector<any_tensor> max_pool1d_with_indices(const any_tensor& x, const pool1d_options& o,
                                                called_from here = caller());
std::vector<any_tensor> max_pool2d_with_indices(const any_tensor& x, const pool2d_options& o,
                                                called_from here = caller());
std::vector<any_tensor> max_pool3d_with_indices(const any_tensor& x, const pool3d_options& o,
                                                called_from here = caller());
} // namespace untyped

namespace detail {
// What the twin gives, values and places, of the types that the rule says.
template <class Rule, class How, class X, class Twin> auto values_and_places(const X& x, const Twin& twin) {
    using verdict = verdict_of<Rule, How, operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<ill_shaped, ill_shaped>{};
    else {
        const std::vector<any_tensor> both = twin(as_tensor(x));
        return std::tuple(op_result_t<Rule, How, 0, void, operand_of_t<X>>::unchecked(both[0]),
                          op_result_t<Rule, How, 0, std::int64_t, operand_of_t<X>>::unchecked(both[1]));
    }
}
} // namespace detail

/// (values, places) as std::tuple: max_pool1d(x), and where each of its elements lies in its line, int64.
template <pool1d_options Options, OperandOrIllShaped X>
auto max_pool1d_with_indices(const X& x, called_from here = caller()) {
    const making made(here);
    return detail::values_and_places<detail::pool1d_rule<false>, detail::constant_attributes<Options>>(
        x, [](const any_tensor& of) { return untyped::max_pool1d_with_indices(of, Options); });
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto max_pool1d_with_indices(const X& x, called_from here = caller()) {
    const making made(here);
    return max_pool1d_with_indices<pool1d_options{Window, Stride, Padding}>(x);
}
/// (values, places) as std::tuple: max_pool2d(x), and where each of its elements lies in its image, int64.
template <pool2d_options Options, OperandOrIllShaped X>
auto max_pool2d_with_indices(const X& x, called_from here = caller()) {
    const making made(here);
    return detail::values_and_places<max_pool2d_op, detail::constant_attributes<detail::attributes_of(Options, false)>>(
        x, [](const any_tensor& of) { return untyped::max_pool2d_with_indices(of, Options); });
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto max_pool2d_with_indices(const X& x, called_from here = caller()) {
    const making made(here);
    return max_pool2d_with_indices<pool2d_options{Window, Stride, Padding}>(x);
}
/// (values, places) as std::tuple: max_pool3d(x), and where each of its elements lies in its volume, int64.
template <pool3d_options Options, OperandOrIllShaped X>
auto max_pool3d_with_indices(const X& x, called_from here = caller()) {
    const making made(here);
    return detail::values_and_places<detail::pool3d_rule<false>, detail::constant_attributes<Options>>(
        x, [](const any_tensor& of) { return untyped::max_pool3d_with_indices(of, Options); });
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto max_pool3d_with_indices(const X& x, called_from here = caller()) {
    const making made(here);
    return max_pool3d_with_indices<pool3d_options{Window, Stride, Padding}>(x);
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_pool_places)

#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/windows.inl>
#include <tenon/ops/reduce/scan.hpp>

namespace tenon {

namespace detail {

// The place of each element of x [batch, sizes.., channels], in double, which holds it exactly: pools pick such numbers.
inline any_tensor places_in(const any_tensor& x) {
    const any_tensor ones = untyped::ones_like(untyped::cast(x, element_type::float64));
    any_tensor places = untyped::cumsum(ones, 1, {.exclusive = true});
    for (int axis = 2; axis + 1 < x.extents().rank(); ++axis)
        places = untyped::add(untyped::multiply(places, untyped::sum(ones, {axis}, true)),
                              untyped::cumsum(ones, axis, {.exclusive = true}));
    return places;
}
// Of values and their places the largest of each window.
inline std::vector<any_tensor> largest_and_places(const pool2d_attributes& how, const std::vector<any_tensor>& of) {
    const any_tensor y = tenon::add<max_pool2d_op>(how, {of[0]});
    const auto wide = [](const any_tensor& x) { return untyped::cast(x, element_type::float64); };
    return {y, tenon::add<max_pool2d_pick_op>(how, {wide(of[0]), wide(y), of[1]})};
}
inline std::vector<any_tensor> with_whole_places(std::vector<any_tensor> both) {
    both[1] = untyped::cast(both[1], element_type::int64);
    return both;
}

} // namespace detail

namespace untyped {

TENON_INLINE std::vector<any_tensor> max_pool1d_with_indices(const any_tensor& x, const pool1d_options& o,
                                                             called_from here) {
    const making made(here);
    detail::check_operands<detail::pool1d_rule<false>>({x}, o);
    const any_tensor image = expand_dims(x, {1});
    std::vector<any_tensor> both =
        detail::largest_and_places(detail::attributes_of(o, false), {image, detail::places_in(image)});
    for (any_tensor& t : both) t = squeeze(t, {1});
    return detail::with_whole_places(std::move(both));
}
TENON_INLINE std::vector<any_tensor> max_pool2d_with_indices(const any_tensor& x, const pool2d_options& o,
                                                             called_from here) {
    const making made(here);
    const detail::pool2d_attributes how = detail::attributes_of(o, false);
    detail::check_operands<max_pool2d_op>({x}, how);
    return detail::with_whole_places(detail::largest_and_places(how, {x, detail::places_in(x)}));
}
TENON_INLINE std::vector<any_tensor> max_pool3d_with_indices(const any_tensor& x, const pool3d_options& o,
                                                             called_from here) {
    const making made(here);
    const auto r = detail::check_operands<detail::pool3d_rule<false>>({x}, o);
    return detail::with_whole_places(
        detail::pool_volumes({x, detail::places_in(x)}, o, false, r.type.extents, detail::largest_and_places));
}

} // namespace untyped

} // namespace tenon

#endif
