#pragma once

#include <tenon/ops/image/image_resize.hpp>

/// Images turned, moved, stretched and sheared.
///
///     auto a = tn::rotate(images, 0.1);                                // all by 0.1 radians
///     auto b = tn::rotate(images, angles);                             // float [batch]: each by its own
///     auto c = tn::random_rotation(images, 0.26, {.seed = 1});         // each by an angle within 15 degrees
///     auto d = tn::affine_transform(images, matrices, {.value = 0.5}); // float [batch, 6]
///
/// Images are [batch, height, width, channels], or a single one [height, width, channels]; float, double, half, bfloat16.
/// They keep their sizes. Gradients flow to the images alone.

namespace tenon {

/// How the pixels of a transformed image are found, and what lies around the image.
struct transform_options {
    interpolation method = interpolation::bilinear; ///< or nearest
    double value = 0;
};

/// The same of a random transformation.
struct random_transform_options {
    interpolation method = interpolation::bilinear;
    double value = 0;
    std::uint64_t seed = 0;
};

namespace detail {
struct transform_attributes {
    interpolation method = interpolation::bilinear;
    double value = 0;
};
constexpr inferred infer_transform(const transform_attributes& a, const tensor_type& x, const tensor_type& matrices) {
    if (const fault f = fault_of_images(x); f != fault::none) return f;
    if (!is_floating(x.element)) return fault::element_type_must_be_floating;
    if (matrices.element != element_type::float32) return fault::element_type_not_supported;
    if (a.method != interpolation::nearest && a.method != interpolation::bilinear) return fault::window_not_possible;
    return images_beside(x, matrices.extents, 6);
}
} // namespace detail

/// in: images, matrices (float [batch, 6]; of a single image [6]).
struct affine_transform_op {
    static constexpr const char* name = "affine_transform";
    using attributes = detail::transform_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 2 ? detail::infer_transform(a, in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_transform, affine_transform);

/// in: gradient of affine_transform, matrices. To each pixel of the images the gradients of those made of it, by their
/// weights.
struct affine_transform_gradient_op {
    static constexpr const char* name = "affine_transform_gradient";
    using attributes = detail::transform_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 2 ? detail::infer_transform(a, in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_transform, affine_transform_gradient);

namespace detail {
// in: images, and angles where they are a tensor.
struct turned_rule {
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (const fault f = fault_of_images(in[0]); f != fault::none) return f;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in.size() < 2) return in[0];
        if (in[1].element != element_type::float32) return fault::element_type_not_supported;
        return images_beside(in[0], in[1].extents, 0);
    }
};
struct rotate_rule : named_rule<"rotate", turned_rule> {};
struct random_rotation_rule : named_rule<"random_rotation", turned_rule> {};
} // namespace detail

namespace untyped {
any_tensor affine_transform(const any_tensor& images, const any_tensor& matrices, const transform_options& o = {},
                            called_from here = caller());
any_tensor rotate(const any_tensor& images, double angle, const transform_options& o = {}, called_from here = caller());
any_tensor rotate(const any_tensor& images, const any_tensor& angles, const transform_options& o = {},
                  called_from here = caller());
any_tensor random_rotation(const any_tensor& images, double most, const random_transform_options& o = {},
                           called_from here = caller());
} // namespace untyped

/// The image whose pixel (x, y) is that of `images` at (a x + b y + c, d x + e y + f), for an image's matrix a .. f. Points
/// are counted from the middle of the image in pixels, x to the right and y downwards; around an image lies o.value.
template <OperandOrIllShaped X, OperandOrIllShaped M>
auto affine_transform(const X& images, const M& matrices, const transform_options& o = {},
                      called_from here = caller()) {
    const making made(here);
    return apply_op<affine_transform_op, detail::default_attributes<affine_transform_op>>(
        detail::transform_attributes{o.method, o.value}, images, matrices);
}
/// The images turned about their middle, counter-clockwise as they are looked at, by an angle in radians: all by a number, or each by its own:
/// float [batch]; of a single image a scalar.
template <OperandOrIllShaped X, class A>
auto rotate(const X& images, const A& angle, const transform_options& o = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_convertible_v<const A&, double> && !std::is_same_v<A, ill_shaped>) {
        using verdict = detail::verdict_on_operands<detail::rotate_rule, X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else
            return detail::typed_by<detail::rotate_rule, X>(
                untyped::rotate(detail::as_tensor(images), static_cast<double>(angle), o));
    } else {
        using verdict = detail::verdict_on_operands<detail::rotate_rule, X, A>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else
            return detail::typed_by<detail::rotate_rule, X, A>(
                untyped::rotate(detail::as_tensor(images), any_tensor(detail::as_tensor(angle)), o));
    }
}
/// Each by an angle of its own, even in [-most, most) radians. Throws invalid_argument_error where most is negative or not
/// finite.
template <OperandOrIllShaped X>
auto random_rotation(const X& images, double most, const random_transform_options& o = {},
                     called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::random_rotation_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::typed_by<detail::random_rotation_rule, X>(
            untyped::random_rotation(detail::as_tensor(images), most, o));
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_image_transform)

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/image/image_transform.inl>
#include <tenon/ops/random/random.hpp>

namespace tenon {

namespace untyped {

TENON_INLINE any_tensor affine_transform(const any_tensor& images, const any_tensor& matrices,
                                         const transform_options& o, called_from here) {
    return tenon::add<affine_transform_op>({o.method, o.value}, {images, matrices}, here);
}
TENON_INLINE any_tensor rotate(const any_tensor& images, const any_tensor& angles, const transform_options& o,
                               called_from here) {
    const making made(here);
    detail::check_operands<detail::rotate_rule>({images, angles});
    const any_tensor c = cos(angles), s = sin(angles), none = multiply(angles, 0);
    return affine_transform(images, stack({c, negative(s), none, s, c, none}, -1), o);
}
TENON_INLINE any_tensor rotate(const any_tensor& images, double angle, const transform_options& o, called_from here) {
    const making made(here);
    detail::check_operands<detail::rotate_rule>({images});
    return rotate(images, add(detail::per_image(images), angle), o);
}
TENON_INLINE any_tensor random_rotation(const any_tensor& images, double most, const random_transform_options& o,
                                        called_from here) {
    const making made(here);
    detail::check_operands<detail::random_rotation_rule>({images});
    if (most == 0) return rotate(images, 0.0, {o.method, o.value});
    detail::check_interval("random_rotation", -most, most);
    const any_tensor angles = detail::uniform_per_image(images, detail::drawn::angle, o.seed, -most, most);
    return rotate(images, angles, {o.method, o.value});
}

} // namespace untyped

TENON_INLINE void affine_transform_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<affine_transform_gradient_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(1)}));
}
TENON_INLINE void affine_transform_gradient_op::gradient(gradient_context& g) {
    attributes a = g.attributes<attributes>();
    a.value = 0; // what lies around an image is no part of it
    g.set(0, tenon::add<affine_transform_op>(a, {g.output_gradient(), g.input(1)}));
}

TENON_INLINE kernel_pointer affine_transform_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::affine_transform_kernel>(s);
}
TENON_INLINE kernel_pointer affine_transform_gradient_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::affine_transform_gradient_kernel>(s);
}

} // namespace tenon

#endif
