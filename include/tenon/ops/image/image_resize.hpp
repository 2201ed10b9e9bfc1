#pragma once

#include <tenon/ops/image/images.hpp>
#include <tenon/ops/interpolation.hpp>

/// Images in other sizes.
///
///     auto y = tn::resize<tn::bilinear, 32, 32>(images);             // [batch, 28, 28, 3] -> [batch, 32, 32, 3]
///     auto z = tn::resize<tn::nearest, 64, 64>(masks);               // of any element type
///     auto s = tn::resize<tn::interpolation::area, 14, 14>(images);  // means: for making images smaller
///
/// Images are [batch, height, width, channels], or a single one [height, width, channels]. Pixel i of n lies at i + 1/2 of n
/// (half-pixel centres), so that a mirrored image gives a mirrored result.

namespace tenon {

namespace detail {
struct resize_attributes {
    interpolation method = interpolation::bilinear;
    std::int64_t height = 0, width = 0;
};
constexpr inferred infer_resized(const resize_attributes& a, const tensor_type& x) {
    if (const fault f = fault_of_images(x); f != fault::none) return f;
    if (a.method != interpolation::nearest && !is_floating(x.element)) return fault::element_type_must_be_floating;
    if (a.method < interpolation::nearest || a.method >= interpolation::count_ || a.height < 0 || a.width < 0)
        return fault::window_not_possible;
    const int rank = x.extents.rank();
    const auto from_nothing = [](const extent& from, std::int64_t to) { return from == extent(0) && to > 0; };
    if (from_nothing(x.extents[rank - 3], a.height) || from_nothing(x.extents[rank - 2], a.width))
        return fault::image_without_pixels;
    return images_of(x, a.height, a.width);
}
} // namespace detail

/// in: images, of any element type. `nearest`.
struct resize_nearest_op {
    static constexpr const char* name = "resize_nearest";
    struct attributes {
        std::int64_t height = 0, width = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 1 ? detail::infer_resized({interpolation::nearest, a.height, a.width}, in[0])
                              : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_resize, resize_nearest);

/// in: images, floating. `bilinear` or `area`.
struct resize_images_op {
    static constexpr const char* name = "resize_images";
    using attributes = detail::resize_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        return a.method == interpolation::nearest ? inferred(fault::window_not_possible)
                                                  : detail::infer_resized(a, in[0]);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_resize, resize_images);

/// in: gradient of resize_images or resize_nearest, images, whose values do not matter. To each pixel the gradients of those made of it, by
/// their weights.
struct resize_images_gradient_op {
    static constexpr const char* name = "resize_images_gradient";
    using attributes = detail::resize_attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        const inferred r = detail::infer_resized(a, in[1]);
        if (!r) return r;
        if (equal_shapes(r.type.extents, in[0].extents).what != fault::none) return fault::gradient_shape_differs;
        return inferred(in[0].element, in[1].extents);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_resize, resize_images_gradient);

namespace detail {
struct resize_rule {
    static constexpr const char* name = "resize";
    using attributes = resize_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) { return infer_resized(a, in[0]); }
};
} // namespace detail

/// The images as Height x Width pixels. Bilinear and area are for floating numbers: cast<float>(images). Of area a pixel is the mean of
/// what it covers, of pixels at its border the part.
template <interpolation Method, std::int64_t Height, std::int64_t Width, OperandOrIllShaped X>
auto resize(const X& images, called_from here = caller()) {
    const making made(here);
    constexpr detail::resize_attributes asked{Method, Height, Width};
    using verdict =
        detail::verdict_of<detail::resize_rule, detail::constant_attributes<asked>, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else if constexpr (Method == interpolation::nearest)
        return apply_op<resize_nearest_op, resize_nearest_op::attributes{Height, Width}>(images);
    else return apply_op<resize_images_op, asked>(images);
}

namespace untyped {
any_tensor resize(const any_tensor& images, interpolation method, std::int64_t height, std::int64_t width,
                  called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_image_resize)

#include <tenon/ops/image/image_resize.inl>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor resize(const any_tensor& images, interpolation method, std::int64_t height, std::int64_t width,
                               called_from here) {
    const making made(here);
    if (method == interpolation::nearest) return tenon::add<resize_nearest_op>({height, width}, {images});
    return tenon::add<resize_images_op>({method, height, width}, {images});
}
} // namespace untyped

TENON_INLINE void resize_nearest_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    g.set(0, tenon::add<resize_images_gradient_op>({interpolation::nearest, a.height, a.width},
                                                   {g.output_gradient(), g.input(0)}));
}
TENON_INLINE void resize_images_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<resize_images_gradient_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(0)}));
}
TENON_INLINE void resize_images_gradient_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    g.set(0, untyped::resize(g.output_gradient(), a.method, a.height, a.width));
}

TENON_KERNEL(resize_nearest, detail::resize_nearest_kernel);
TENON_INLINE kernel_pointer resize_images_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::resize_kernel>(s);
}
TENON_INLINE kernel_pointer resize_images_gradient_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::resize_gradient_kernel>(s);
}

} // namespace tenon

#endif
