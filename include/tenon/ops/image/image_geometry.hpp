#pragma once

#include <tenon/ops/image/images.hpp>
#include <tenon/ops/shape/indexing.hpp>

/// Images mirrored, cut and framed, of any element type; a channel's values are moved, not changed.
///
///     auto a = tn::random_flip_left_right(images, {.seed = 1});   // each image as it is or mirrored
///     auto b = tn::random_crop<24, 24>(images, {.seed = 2});      // each at a place of its own
///     auto c = tn::center_crop<24, 24>(images);
///     auto d = tn::pad_to<40, 40>(images);                        // zeros around
///     auto e = tn::crop<0, 4, 24, 24>(images);                    // rows 0 .. 23, columns 4 .. 27
///
/// Images are [batch, height, width, channels], or a single one [height, width, channels].

namespace tenon {

/// in: images, which (bool [batch]; of a single image a scalar). The images for which it is true, mirrored.
struct flip_images_op {
    static constexpr const char* name = "flip_images";
    struct attributes {
        bool upside_down = false; ///< else left and right change places
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (const fault f = detail::fault_of_images(in[0]); f != fault::none) return f;
        if (in[1].element != element_type::boolean) return fault::element_type_must_be_bool;
        return detail::images_beside(in[0], in[1].extents, 0);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_geometry, flip_images);

/// in: images, places [batch, 2] (of a single image [2]). Of each image `height` rows from the first number of its place on
/// and `width` columns from the second. Places are int32, or float: a part in [0, 1) of the places that there are, so that 0
/// is the first and what is below 1 the last.
struct crop_images_op {
    static constexpr const char* name = "crop_images";
    struct attributes {
        std::int64_t height = 0, width = 0;
    };
    static constexpr inferred cut(const attributes& a, const tensor_type& x, const tensor_type& places) {
        if (const fault f = detail::fault_of_images(x); f != fault::none) return f;
        if (places.element != element_type::int32 && places.element != element_type::float32)
            return fault::element_type_not_supported;
        const inferred r = detail::images_beside(x, places.extents, 2);
        if (!r) return r;
        const int rank = x.extents.rank();
        if (a.height < 0 || a.width < 0) return fault::slice_out_of_range;
        if (x.extents[rank - 3].is_number() && x.extents[rank - 3].size < a.height) return fault::slice_out_of_range;
        if (x.extents[rank - 2].is_number() && x.extents[rank - 2].size < a.width) return fault::slice_out_of_range;
        return detail::images_of(r.type, a.height, a.width);
    }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 2 ? cut(a, in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_geometry, crop_images);

/// in: gradient of crop_images, images, whose values do not matter, places. Zeros of the images' sizes with the gradient in
/// place of what was cut out.
struct crop_images_gradient_op {
    static constexpr const char* name = "crop_images_gradient";
    using attributes = crop_images_op::attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input != 1; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        const inferred r = crop_images_op::cut(a, in[1], in[2]);
        if (!r) return r;
        if (equal_shapes(r.type.extents, in[0].extents).what != fault::none) return fault::gradient_shape_differs;
        return detail::fault_of_images(in[0]) == fault::none ? inferred(in[0].element, in[1].extents)
                                                             : inferred(fault::element_type_not_supported);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_geometry, crop_images_gradient);

/// in: images. The middle of what is too large, `value` around what is too small; of an odd number of rows or columns the
/// smaller half is before.
struct fit_images_op {
    static constexpr const char* name = "fit_images";
    struct attributes {
        std::int64_t height = 0, width = 0;
        bool crops = true, pads = true; ///< what it may do
        number value = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (const fault f = detail::fault_of_images(in[0]); f != fault::none) return f;
        if (a.height < 0 || a.width < 0) return fault::slice_out_of_range;
        if (!a.value.fits(in[0].element)) return fault::number_does_not_fit;
        const int rank = in[0].extents.rank();
        const extent &h = in[0].extents[rank - 3], &w = in[0].extents[rank - 2];
        const bool larger = (h.is_number() && h.size > a.height) || (w.is_number() && w.size > a.width);
        const bool smaller = (h.is_number() && h.size < a.height) || (w.is_number() && w.size < a.width);
        if ((larger && !a.crops) || (smaller && !a.pads)) return fault::slice_out_of_range;
        return detail::images_of(in[0], a.height, a.width);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_geometry, fit_images);

/// in: x, images, whose values do not matter. x fitted, with zeros, to the height and width of the images: the gradient of
/// fit_images.
struct fit_images_like_op {
    static constexpr const char* name = "fit_images_like";
    using attributes = no_attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (const fault f = detail::fault_of_images(in[0]); f != fault::none) return f;
        const int rank = in[0].extents.rank();
        if (in[1].extents.rank() != rank) return fault::ranks_differ;
        extents x = in[0].extents;
        for (const int i : {rank - 3, rank - 2}) x[i] = in[1].extents[i];
        const merged_extents m = equal_shapes(x, in[1].extents);
        return m.what == fault::none ? inferred(in[0].element, m.extents) : inferred(m.what);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_geometry, fit_images_like);

namespace detail {

struct mirrored_rule {
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        const fault f = fault_of_images(in[0]);
        return f == fault::none ? inferred(in[0]) : inferred(f);
    }
};
struct flip_left_right_rule : named_rule<"flip_left_right", mirrored_rule> {};
struct flip_up_down_rule : named_rule<"flip_up_down", mirrored_rule> {};
struct random_flip_left_right_rule : named_rule<"random_flip_left_right", mirrored_rule> {};
struct random_flip_up_down_rule : named_rule<"random_flip_up_down", mirrored_rule> {};

// The rules of fit_images and crop_images with the names that users know.
struct center_crop_rule : named_rule<"center_crop", fit_images_op> {};
struct pad_to_rule : named_rule<"pad_to", fit_images_op> {};
struct crop_or_pad_rule : named_rule<"resize_with_crop_or_pad", fit_images_op> {};
struct crop_rule {
    static constexpr const char* name = "crop";
    struct attributes {
        std::int64_t top = 0, left = 0, height = 0, width = 0;
    };
    static constexpr slice_op::attributes slicing(const attributes& a, int rank) {
        const range ranges[] = {{}, {a.top, a.top + a.height, 1}, {a.left, a.left + a.width, 1}};
        return slice_op::attributes_of(ranges + (rank == 4 ? 0 : 1), rank - 1);
    }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (const fault f = fault_of_images(in[0]); f != fault::none) return f;
        constexpr std::int64_t most = std::int64_t{1} << 31;
        if (a.top < 0 || a.left < 0 || a.height < 0 || a.width < 0 || a.top > most || a.left > most ||
            a.height > most || a.width > most)
            return fault::slice_out_of_range;
        return slice_op::sliced(slicing(a, in[0].extents.rank()), in[0]);
    }
};
// A complaint shows the height and width that are asked for.
template <std::int64_t Height, std::int64_t Width>
using asked_pixels = operand_type<float, shape<static_cast<int>(Height), static_cast<int>(Width)>>;
template <std::int64_t Height, std::int64_t Width, bool Crops, bool Pads> struct fitted {
    using subject = asked_pixels<Height, Width>;
    static constexpr fit_images_op::attributes value{Height, Width, Crops, Pads, 0};
};
template <std::int64_t Top, std::int64_t Left, std::int64_t Height, std::int64_t Width> struct cut_out {
    using subject = asked_pixels<Height, Width>;
    static constexpr crop_rule::attributes value{Top, Left, Height, Width};
};
template <std::int64_t Height, std::int64_t Width> struct cut_somewhere {
    using subject = asked_pixels<Height, Width>;
    static constexpr crop_images_op::attributes value{Height, Width};
};
struct random_crop_rule {
    static constexpr const char* name = "random_crop";
    using attributes = crop_images_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (const fault f = fault_of_images(in[0]); f != fault::none) return f;
        const extents places = is_batch(in[0].extents) ? extents{in[0].extents[0], 2} : extents{2};
        return crop_images_op::cut(a, in[0], tensor_type{element_type::float32, places});
    }
};

} // namespace detail

/// How often a random flip mirrors an image.
struct flip_options {
    double probability = 0.5;
    std::uint64_t seed = 0;
};

namespace untyped {
any_tensor flip_left_right(const any_tensor& images, called_from here = caller());
/// Those for which `which`, bool [batch], is true.
any_tensor flip_left_right(const any_tensor& images, const any_tensor& which, called_from here = caller());
any_tensor flip_up_down(const any_tensor& images, called_from here = caller());
any_tensor flip_up_down(const any_tensor& images, const any_tensor& which, called_from here = caller());
any_tensor random_flip_left_right(const any_tensor& images, const flip_options& o = {}, called_from here = caller());
any_tensor random_flip_up_down(const any_tensor& images, const flip_options& o = {}, called_from here = caller());
any_tensor crop(const any_tensor& images, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
                called_from here = caller());
any_tensor crop_at(const any_tensor& images, const any_tensor& places, std::int64_t height, std::int64_t width,
                   called_from here = caller());
any_tensor random_crop(const any_tensor& images, std::int64_t height, std::int64_t width, const seeded& o = {},
                       called_from here = caller());
any_tensor center_crop(const any_tensor& images, std::int64_t height, std::int64_t width, called_from here = caller());
any_tensor pad_to(const any_tensor& images, std::int64_t height, std::int64_t width, const number& value = 0,
                  called_from here = caller());
any_tensor resize_with_crop_or_pad(const any_tensor& images, std::int64_t height, std::int64_t width,
                                   const number& value = 0, called_from here = caller());
} // namespace untyped

/// All images with left and right in each other's place.
template <OperandOrIllShaped X> auto flip_left_right(const X& images, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::flip_left_right_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return reverse<-2>(images);
}
/// Those for which `which` is true: bool [batch], or of a single image a scalar.
template <OperandOrIllShaped X, OperandOrIllShaped W>
auto flip_left_right(const X& images, const W& which, called_from here = caller()) {
    const making made(here);
    return apply_op<flip_images_op, flip_images_op::attributes{false}>(images, which);
}
/// All images upside down.
template <OperandOrIllShaped X> auto flip_up_down(const X& images, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::flip_up_down_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return reverse<-3>(images);
}
template <OperandOrIllShaped X, OperandOrIllShaped W>
auto flip_up_down(const X& images, const W& which, called_from here = caller()) {
    const making made(here);
    return apply_op<flip_images_op, flip_images_op::attributes{true}>(images, which);
}
/// Each image mirrored with a probability, independently of the others. Throws invalid_argument_error unless that is in 0 .. 1.
template <OperandOrIllShaped X>
auto random_flip_left_right(const X& images, const flip_options& o = {}, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::random_flip_left_right_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::typed_by<detail::random_flip_left_right_rule, X>(
            untyped::random_flip_left_right(detail::as_tensor(images), o));
}
/// Each image upside down with a probability, independently of the others.
template <OperandOrIllShaped X>
auto random_flip_up_down(const X& images, const flip_options& o = {}, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::random_flip_up_down_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::typed_by<detail::random_flip_up_down_rule, X>(
            untyped::random_flip_up_down(detail::as_tensor(images), o));
}

/// Of all images the rows Top .. Top + Height - 1 and the columns Left .. Left + Width - 1. They lie within the image.
template <std::int64_t Top, std::int64_t Left, std::int64_t Height, std::int64_t Width, OperandOrIllShaped X>
auto crop(const X& images, called_from here = caller()) {
    const making made(here);
    using verdict =
        detail::verdict_of<detail::crop_rule, detail::cut_out<Top, Left, Height, Width>, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return apply_op<slice_op, detail::crop_rule::slicing(detail::cut_out<Top, Left, Height, Width>::value,
                                                             X::rank())>(images);
}
/// Of each image Height x Width pixels from the place on that says its first row and column: [batch, 2], int32; or float, as
/// parts in [0, 1) of the places that there are. A place outside fails the step with invalid_argument_error.
template <std::int64_t Height, std::int64_t Width, OperandOrIllShaped X, OperandOrIllShaped P>
auto crop_at(const X& images, const P& places, called_from here = caller()) {
    const making made(here);
    return apply_op<crop_images_op, crop_images_op::attributes{Height, Width}>(images, places);
}
/// Of each image Height x Width pixels at a place of its own, all places as likely.
template <std::int64_t Height, std::int64_t Width, OperandOrIllShaped X>
auto random_crop(const X& images, const seeded& o = {}, called_from here = caller()) {
    const making made(here);
    using statics = detail::cut_somewhere<Height, Width>;
    using verdict = detail::verdict_of<detail::random_crop_rule, statics, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<detail::random_crop_rule, statics, 0, void, detail::operand_of_t<X>>::unchecked(
            untyped::random_crop(detail::as_tensor(images), Height, Width, o));
}
/// The Height x Width pixels in the middle of images that are at least as large.
template <std::int64_t Height, std::int64_t Width, OperandOrIllShaped X>
auto center_crop(const X& images, called_from here = caller()) {
    const making made(here);
    using statics = detail::fitted<Height, Width, true, false>;
    using verdict = detail::verdict_of<detail::center_crop_rule, statics, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return apply_op<fit_images_op, statics>(statics::value, images);
}
/// Images that are at most Height x Width, in the middle of so many pixels; the others are `value`. Throws
/// invalid_argument_error where the images' element type does not hold the value.
template <std::int64_t Height, std::int64_t Width, OperandOrIllShaped X>
auto pad_to(const X& images, const number& value = 0, called_from here = caller()) {
    const making made(here);
    using statics = detail::fitted<Height, Width, false, true>;
    using verdict = detail::verdict_of<detail::pad_to_rule, statics, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return apply_op<fit_images_op, statics>({Height, Width, false, true, value}, images);
}
/// center_crop along what is too large, pad_to along what is too small.
template <std::int64_t Height, std::int64_t Width, OperandOrIllShaped X>
auto resize_with_crop_or_pad(const X& images, const number& value = 0, called_from here = caller()) {
    const making made(here);
    using statics = detail::fitted<Height, Width, true, true>;
    using verdict = detail::verdict_of<detail::crop_or_pad_rule, statics, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return apply_op<fit_images_op, statics>({Height, Width, true, true, value}, images);
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_image_geometry)

#include <tenon/ops/random/dropout.hpp>
#include <tenon/ops/image/image_geometry.inl>

namespace tenon {

namespace untyped {

TENON_INLINE any_tensor flip_left_right(const any_tensor& images, called_from here) {
    const making made(here);
    detail::check_operands<detail::flip_left_right_rule>({images});
    return reverse(images, -2);
}
TENON_INLINE any_tensor flip_left_right(const any_tensor& images, const any_tensor& which, called_from here) {
    return tenon::add<flip_images_op>({false}, {images, which}, here);
}
TENON_INLINE any_tensor flip_up_down(const any_tensor& images, called_from here) {
    const making made(here);
    detail::check_operands<detail::flip_up_down_rule>({images});
    return reverse(images, -3);
}
TENON_INLINE any_tensor flip_up_down(const any_tensor& images, const any_tensor& which, called_from here) {
    return tenon::add<flip_images_op>({true}, {images, which}, here);
}
TENON_INLINE any_tensor random_flip_left_right(const any_tensor& images, const flip_options& o, called_from here) {
    const making made(here);
    detail::check_operands<detail::random_flip_left_right_rule>({images});
    const std::uint64_t seed = detail::seed_of(detail::drawn::flip_left_right, o.seed);
    return flip_left_right(images, random_bernoulli_like(detail::per_image(images), o.probability, seed));
}
TENON_INLINE any_tensor random_flip_up_down(const any_tensor& images, const flip_options& o, called_from here) {
    const making made(here);
    detail::check_operands<detail::random_flip_up_down_rule>({images});
    const std::uint64_t seed = detail::seed_of(detail::drawn::flip_up_down, o.seed);
    return flip_up_down(images, random_bernoulli_like(detail::per_image(images), o.probability, seed));
}
TENON_INLINE any_tensor crop(const any_tensor& images, std::int64_t top, std::int64_t left, std::int64_t height,
                             std::int64_t width, called_from here) {
    const making made(here);
    const detail::crop_rule::attributes a{top, left, height, width};
    const tensor_type operand = images.type();
    const inferred r = detail::crop_rule::infer(a, type_list(&operand, 1), 0);
    if (!r) throw invalid_argument_error(fault_sentence("crop", r, type_list(&operand, 1)));
    return tenon::add<slice_op>(detail::crop_rule::slicing(a, images.rank()), {images});
}
TENON_INLINE any_tensor crop_at(const any_tensor& images, const any_tensor& places, std::int64_t height,
                                std::int64_t width, called_from here) {
    return tenon::add<crop_images_op>({height, width}, {images, places}, here);
}
TENON_INLINE any_tensor random_crop(const any_tensor& images, std::int64_t height, std::int64_t width, const seeded& o,
                                    called_from here) {
    return crop_at(images, detail::uniform_per_image(images, detail::drawn::crop, o.seed, 0, 1, index_list(2)), height,
                   width, here);
}
TENON_INLINE any_tensor center_crop(const any_tensor& images, std::int64_t height, std::int64_t width,
                                    called_from here) {
    return tenon::add<fit_images_op>({height, width, true, false, 0}, {images}, here);
}
TENON_INLINE any_tensor pad_to(const any_tensor& images, std::int64_t height, std::int64_t width, const number& value,
                               called_from here) {
    return tenon::add<fit_images_op>({height, width, false, true, value}, {images}, here);
}
TENON_INLINE any_tensor resize_with_crop_or_pad(const any_tensor& images, std::int64_t height, std::int64_t width,
                                                const number& value, called_from here) {
    return tenon::add<fit_images_op>({height, width, true, true, value}, {images}, here);
}

} // namespace untyped

TENON_INLINE void flip_images_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<flip_images_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(1)}));
}
TENON_INLINE void crop_images_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<crop_images_gradient_op>(g.attributes<attributes>(),
                                                 {g.output_gradient(), g.input(0), g.input(1)}));
}
TENON_INLINE void crop_images_gradient_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<crop_images_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(2)}));
}
TENON_INLINE void fit_images_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<fit_images_like_op>({}, {g.output_gradient(), g.input(0)}));
}
TENON_INLINE void fit_images_like_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<fit_images_like_op>({}, {g.output_gradient(), g.input(0)}));
}

TENON_KERNEL(flip_images, detail::flip_images_kernel);
TENON_KERNEL(crop_images, detail::crop_images_kernel);
TENON_KERNEL(crop_images_gradient, detail::crop_images_gradient_kernel);
TENON_INLINE kernel_pointer fit_images_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::fit_images_kernel>(s, decode<attributes>(s.attrs).value);
}
TENON_INLINE kernel_pointer fit_images_like_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::fit_images_kernel>(s, 0);
}

} // namespace tenon

#endif
