#pragma once

#include <utility>

#include <tenon/core/number.hpp>
#include <tenon/ops/image/images.hpp>

/// Images with parts that are hidden, and images mixed with others of their batch.
///
///     auto a = tn::cutout<8, 8>(images, {.seed = 1});              // 8 x 8 pixels of each are 0
///     auto b = tn::random_erasing(images, {.probability = 0.25, .value = 0.5, .seed = 2});
///     auto [x, y] = tn::mixup(images, tn::one_hot<10>(labels), {.alpha = 0.2, .seed = 3});
///     auto [u, v] = tn::cutmix(images, tn::one_hot<10>(labels), {.seed = 4});
///
/// Images are [batch, height, width, channels]; what hides takes a single one [height, width, channels] too.

namespace tenon {

/// in: images, whose values do not matter, boxes (float [batch, 4]; of a single image [4]): the place of a box down and
/// across, as parts in [0, 1) of the image, its height and its width as parts of the image's, rounded to pixels. The truth
/// of "this pixel lies in the box": bool [batch, height, width, 1]. With a `height` and `width` in pixels boxes are
/// [batch, 2].
struct box_mask_op {
    static constexpr const char* name = "box_mask";
    struct attributes {
        std::int64_t height = 0, width = 0; ///< both 0: the boxes say their sizes
        bool inside =
            false; ///< the place is one of those at which the box lies in the image; else that of its middle, and
                   ///< what would lie outside is cut off
        constexpr bool says_sizes() const noexcept { return height != 0 || width != 0; }
    };
    static constexpr bool needs_value(const attributes&, int input) { return input == 1; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (const fault f = detail::fault_of_images(in[0]); f != fault::none) return f;
        if (in[1].element != element_type::float32) return fault::element_type_not_supported;
        if (a.height < 0 || a.width < 0) return fault::window_not_possible;
        inferred r = detail::images_beside(in[0], in[1].extents, a.says_sizes() ? 2 : 4);
        if (!r) return r;
        r.type.extents[r.type.extents.rank() - 1] = 1;
        return inferred(element_type::boolean, r.type.extents);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_mixing, box_mask);

/// in: images, boxes. The images with `value` in the boxes, which are those of box_mask.
struct fill_boxes_op {
    static constexpr const char* name = "fill_boxes";
    struct attributes {
        std::int64_t height = 0, width = 0;
        bool inside = false;
        number value = 0;
        constexpr box_mask_op::attributes boxes() const noexcept { return {height, width, inside}; }
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        const inferred mask = box_mask_op::infer(a.boxes(), in, 0);
        if (!mask) return mask;
        if (!a.value.fits(in[0].element)) return fault::number_does_not_fit;
        tensor_type result = in[0];
        result.extents[0] = mask.type.extents[0]; // the boxes may know the batch
        return result;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(image_mixing, fill_boxes);

/// What is put where pixels are hidden.
struct cutout_options {
    number value = 0;
    std::uint64_t seed = 0;
};
/// How often, how much of an image and in which form is erased. (Z. Zhong et al., "Random erasing data augmentation", 2017.)
struct erasing_options {
    double probability = 0.5;
    double min_area = 0.02, max_area = 1.0 / 3; ///< as parts of the image
    double min_aspect = 0.3,
           max_aspect = 1 / 0.3; ///< height by width, both as parts of the image's; even in the logarithm
    number value = 0;
    std::uint64_t seed = 0;
};
/// The weight of an image against its partner is drawn from Beta(alpha, alpha).
struct mixing_options {
    double alpha = 1;
    std::uint64_t seed = 0;
};

namespace detail {
struct hidden_rule {
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (const fault f = fault_of_images(in[0]); f != fault::none) return f;
        return in[0];
    }
};
struct cutout_rule : named_rule<"cutout", hidden_rule> {};
struct random_erasing_rule : named_rule<"random_erasing", hidden_rule> {};
/// in: images, labels.
struct mixed_rule {
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in[0].extents.rank() != 4) return fault::rank_must_be_4;
        if (!is_floating(in[0].element) || !is_floating(in[1].element)) return fault::element_type_must_be_floating;
        if (in[1].extents.rank() != 2) return in[1].extents.rank() < 2 ? fault::rank_too_low : fault::rank_too_high;
        const merged_extent m = equal_sizes(in[0].extents[0], in[1].extents[0]);
        if (m.what == fault::sizes_differ) return fault::batch_sizes_differ;
        return m.what == fault::none ? inferred(in[0]) : inferred(m.what);
    }
};
struct mixup_rule : named_rule<"mixup", mixed_rule> {};
struct cutmix_rule : named_rule<"cutmix", mixed_rule> {};

template <class X> auto typed_like(const X&, any_tensor made) {
    return tensor<typename X::element_type, typename X::shape_type>::unchecked(std::move(made));
}
} // namespace detail

namespace untyped {
any_tensor box_mask(const any_tensor& images, const any_tensor& boxes, called_from here = caller());
any_tensor cutout(const any_tensor& images, std::int64_t height, std::int64_t width, const cutout_options& o = {},
                  called_from here = caller());
any_tensor random_erasing(const any_tensor& images, const erasing_options& o = {}, called_from here = caller());
/// The images and the labels.
std::pair<any_tensor, any_tensor> mixup(const any_tensor& images, const any_tensor& labels,
                                        const mixing_options& o = {}, called_from here = caller());
std::pair<any_tensor, any_tensor> cutmix(const any_tensor& images, const any_tensor& labels,
                                         const mixing_options& o = {}, called_from here = caller());
} // namespace untyped

/// True in a box for each image: bool [batch, height, width, 1]. A row of `boxes`, float [batch, 4], is the middle of the box
/// down and across, its height and its width, all as parts of the image's; what lies outside is cut off.
template <OperandOrIllShaped X, OperandOrIllShaped B>
auto box_mask(const X& images, const B& boxes, called_from here = caller()) {
    const making made(here);
    return apply_op<box_mask_op, box_mask_op::attributes{}>(images, boxes);
}
/// Height x Width pixels about a pixel of each image that is drawn for it are o.value; what would lie outside the image is
/// cut off. (T. DeVries, G. Taylor, "Improved regularization of convolutional neural networks with cutout", 2017.) Throws
/// invalid_argument_error where the images' element type does not hold the value.
template <std::int64_t Height, std::int64_t Width, OperandOrIllShaped X>
auto cutout(const X& images, const cutout_options& o = {}, called_from here = caller()) {
    const making made(here);
    static_assert(Height > 0 && Width > 0, "tenon::cutout: one or more pixels are hidden");
    using verdict = detail::verdict_on_operands<detail::cutout_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::typed_by<detail::cutout_rule, X>(untyped::cutout(detail::as_tensor(images), Height, Width, o));
}
/// A box of random size and form, at a random place within, of each image with a probability. Throws invalid_argument_error
/// for bounds that are not in order, areas that are no parts of an image and aspects that are not positive.
template <OperandOrIllShaped X>
auto random_erasing(const X& images, const erasing_options& o = {}, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::random_erasing_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::typed_by<detail::random_erasing_rule, X>(untyped::random_erasing(detail::as_tensor(images), o));
}
/// Images and labels ([batch, classes], as one_hot gives them), each mixed with those of another image of the batch: w times
/// its own and 1 - w times the other's. The others are the batch in a random order; w is drawn for each image. (H. Zhang et
/// al., "mixup: beyond empirical risk minimization", 2017.) A pair. Throws invalid_argument_error unless alpha > 0.
template <OperandOrIllShaped X, OperandOrIllShaped Y>
auto mixup(const X& images, const Y& labels, const mixing_options& o = {}, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::mixup_rule, X, Y>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::pair(ill_shaped{}, ill_shaped{});
    else {
        const auto mixed = untyped::mixup(detail::as_tensor(images), detail::as_tensor(labels), o);
        return std::pair(detail::typed_like(images, mixed.first), detail::typed_like(labels, mixed.second));
    }
}
/// Each image with a box of another image of the batch, of 1 - w of its area, and the labels mixed as the areas are. (S. Yun
/// et al., "CutMix: regularization strategy to train strong classifiers with localizable features", 2019.) A pair.
template <OperandOrIllShaped X, OperandOrIllShaped Y>
auto cutmix(const X& images, const Y& labels, const mixing_options& o = {}, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::cutmix_rule, X, Y>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::pair(ill_shaped{}, ill_shaped{});
    else {
        const auto mixed = untyped::cutmix(detail::as_tensor(images), detail::as_tensor(labels), o);
        return std::pair(detail::typed_like(images, mixed.first), detail::typed_like(labels, mixed.second));
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_image_mixing)

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/memory/paid_memory.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/image/images_kernel.hpp>
#include <tenon/ops/random/dropout.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/reshape.hpp>

namespace tenon {

namespace detail {

/// Beta(alpha, alpha), float [batch]: 1/2 + s / (2 sqrt(1 + 1 / ((u^(-1/alpha) - 1) c^2))) of even u and v, where c is
/// cos(2 pi v) and s its sign. (L. Devroye, "Random variate generation in one line of code", 1996, from R. W. Bailey's
/// Student t.) Nothing is rejected: each weight is made of two numbers, whatever the others are.
inline any_tensor beta_per_image(const any_tensor& images, double alpha, std::uint64_t seed) {
    using namespace untyped;
    const any_tensor u = uniform_per_image(images, drawn::weight, seed);
    const any_tensor v = uniform_per_image(images, drawn::weight_angle, seed);
    const any_tensor cosine = cos(multiply(v, 6.283185307179586));
    const any_tensor squares = multiply(subtract(pow(u, -1 / alpha), 1), multiply(cosine, cosine));
    return add(multiply(divide(sign(cosine), untyped::sqrt(add(divide(1, squares), 1))), 0.5), 0.5);
}
inline void check_alpha(const char* function, double alpha) {
    if (!(alpha > 0) || !std::isfinite(alpha))
        throw invalid_argument_error(std::string(function) + ": alpha is " + detail::text_of_number(alpha) +
                                     "; weights are drawn from Beta(alpha, alpha), which takes a positive number");
}
/// The batch's order in which the partners of its images stand: int64 [batch].
inline any_tensor partners(const any_tensor& images, std::uint64_t seed) {
    return untyped::random_permutation_like(images, seed_of(drawn::partner, seed));
}
inline any_tensor mixed(const any_tensor& a, const any_tensor& b, const any_tensor& weight) {
    using namespace untyped;
    return add(b, multiply(subtract(a, b), cast(weight, a.element())));
}

} // namespace detail

namespace untyped {

TENON_INLINE any_tensor box_mask(const any_tensor& images, const any_tensor& boxes, called_from here) {
    return tenon::add<box_mask_op>({}, {images, boxes}, here);
}
TENON_INLINE any_tensor cutout(const any_tensor& images, std::int64_t height, std::int64_t width,
                               const cutout_options& o, called_from here) {
    const making made(here);
    detail::check_operands<detail::cutout_rule>({images});
    if (height < 1 || width < 1)
        throw invalid_argument_error("cutout: " + std::to_string(height) + " x " + std::to_string(width) +
                                     " pixels; one or more are hidden");
    const any_tensor places = detail::uniform_per_image(images, detail::drawn::cutout, o.seed, 0, 1, index_list(2));
    return tenon::add<fill_boxes_op>({height, width, false, o.value}, {images, places});
}
TENON_INLINE any_tensor random_erasing(const any_tensor& images, const erasing_options& o, called_from here) {
    const making made(here);
    using detail::drawn, detail::uniform_per_image;
    detail::check_operands<detail::random_erasing_rule>({images});
    detail::check_probability("random_erasing", o.probability);
    if (!(o.min_area >= 0 && o.min_area <= o.max_area && o.max_area <= 1))
        throw invalid_argument_error("random_erasing: areas from " + detail::text_of_number(o.min_area) + " to " +
                                     detail::text_of_number(o.max_area) +
                                     " are no parts of an image; give 0 <= min_area <= max_area <= 1");
    if (!(o.min_aspect > 0 && o.min_aspect <= o.max_aspect && std::isfinite(o.max_aspect)))
        throw invalid_argument_error("random_erasing: aspects from " + detail::text_of_number(o.min_aspect) + " to " +
                                     detail::text_of_number(o.max_aspect) +
                                     " are not possible; give 0 < min_aspect <= max_aspect");
    const index_list one(1);
    const auto between = [&](drawn what, double low, double high) {
        return add(multiply(uniform_per_image(images, what, o.seed, 0, 1, one), high - low), low);
    };
    const any_tensor erased =
        random_bernoulli_like(detail::per_image(images, one), o.probability, detail::seed_of(drawn::erased, o.seed));
    const any_tensor area = select(erased, between(drawn::erased_area, o.min_area, o.max_area), 0);
    const any_tensor aspect = exp(between(drawn::erased_aspect, std::log(o.min_aspect), std::log(o.max_aspect)));
    const any_tensor places = uniform_per_image(images, drawn::erased_place, o.seed, 0, 1, index_list(2));
    const any_tensor boxes = concat({places, sqrt(multiply(area, aspect)), sqrt(divide(area, aspect))}, -1);
    return tenon::add<fill_boxes_op>({0, 0, true, o.value}, {images, boxes});
}
TENON_INLINE std::pair<any_tensor, any_tensor> mixup(const any_tensor& images, const any_tensor& labels,
                                                     const mixing_options& o, called_from here) {
    const making made(here);
    detail::check_operands<detail::mixup_rule>({images, labels});
    detail::check_alpha("mixup", o.alpha);
    const any_tensor order = detail::partners(images, o.seed);
    const any_tensor weight = detail::beta_per_image(images, o.alpha, o.seed);
    return {detail::mixed(images, gather(images, order), expand_dims(weight, {1, 2, 3})),
            detail::mixed(labels, gather(labels, order), expand_dims(weight, 1))};
}
TENON_INLINE std::pair<any_tensor, any_tensor> cutmix(const any_tensor& images, const any_tensor& labels,
                                                      const mixing_options& o, called_from here) {
    const making made(here);
    using detail::drawn;
    detail::check_operands<detail::cutmix_rule>({images, labels});
    detail::check_alpha("cutmix", o.alpha);
    const any_tensor order = detail::partners(images, o.seed);
    const any_tensor side = expand_dims(sqrt(subtract(1, detail::beta_per_image(images, o.alpha, o.seed))), 1);
    const any_tensor places = detail::uniform_per_image(images, drawn::cut_place, o.seed, 0, 1, index_list(2));
    const any_tensor mask = box_mask(images, concat({places, side, side}, 1));
    // What was cut off at a border does not count.
    const any_tensor own = subtract(1, mean(cast(mask, element_type::float32), {1, 2}));
    return {select(mask, gather(images, order), images), detail::mixed(labels, gather(labels, order), own)};
}

} // namespace untyped

namespace detail {

/// Where the box of each image lies.
class box_kernel : public kernel {
public:
    double cost() const override { return 30 + ns_each() * static_cast<double>(sizes.batch); }

protected:
    box_kernel(const kernel_setup& s, const box_mask_op::attributes& a) :
        sizes(s.outputs[0].extents),
        bytes(static_cast<std::int64_t>(size_of(s.outputs[0].element))),
        pixel(sizes.channels * bytes),
        how(a) {}
    /// fill(first byte, bytes) for each row of image b's box.
    template <class F> void each_row(const float* boxes, std::int64_t b, F&& fill) const {
        const int numbers = how.says_sizes() ? 2 : 4;
        const float* box = boxes + numbers * b;
        const stretch rows = along(box[0], numbers == 2 ? how.height : pixels(box[2], sizes.height), sizes.height);
        const stretch columns = along(box[1], numbers == 2 ? how.width : pixels(box[3], sizes.width), sizes.width);
        for (std::int64_t y = rows.begin; y < rows.end; ++y)
            fill((y * sizes.width + columns.begin) * pixel, (columns.end - columns.begin) * pixel);
    }
    double ns_each() const { return 20 + 0.05 * static_cast<double>(sizes.height * sizes.width * pixel); }
    image_sizes sizes;
    std::int64_t bytes, pixel;

private:
    struct stretch {
        std::int64_t begin, end; // begin <= end
    };
    // NaN: none.
    static std::int64_t pixels(float part, std::int64_t of) {
        if (!(part > 0)) return 0;
        return part >= 1 ? of : static_cast<std::int64_t>(part * static_cast<double>(of) + 0.5);
    }
    static std::int64_t index(float place, std::int64_t n) { // of n, at least 1
        if (!(place > 0)) return 0;
        return place >= 1 ? n - 1 : static_cast<std::int64_t>(place * static_cast<double>(n));
    }
    stretch along(float place, std::int64_t size, std::int64_t n) const {
        if (how.inside) {
            size = std::min(size, n);
            const std::int64_t first = index(place, n - size + 1);
            return {first, first + size};
        }
        // Half of a size that is far larger than the image covers what all of it does.
        const std::int64_t first = index(place, n) - size / 2;
        const std::int64_t end = size > 4 * n ? n : std::min(first + size, n);
        return {std::clamp<std::int64_t>(first, 0, n), std::max<std::int64_t>(end, 0)};
    }
    box_mask_op::attributes how;
};

struct box_mask_kernel final : box_kernel {
    explicit box_mask_kernel(const kernel_setup& s) : box_kernel(s, decode<box_mask_op::attributes>(s.attrs)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || sizes.elements() == 0) return;
        for_images(r.pool, sizes.batch, ns_each(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
                bool* to = r.output<bool>(0) + b * sizes.image();
                std::fill_n(to, sizes.image(), false);
                each_row(r.input<float>(1), b, [&](std::int64_t at, std::int64_t n) { std::fill_n(to + at, n, true); });
            }
        });
    }
};

struct fill_boxes_kernel final : box_kernel {
    explicit fill_boxes_kernel(const kernel_setup& s) :
        box_kernel(s, decode<fill_boxes_op::attributes>(s.attrs).boxes()), row(s.memory) {
        if (sizes.elements() == 0) return;
        with_element(s.outputs[0].element, [&]<class T>(const T&) {
            if constexpr (!std::is_same_v<T, std::string>) {
                const T v = decode<fill_boxes_op::attributes>(s.attrs).value.template to<T>();
                row.resize(static_cast<std::size_t>(sizes.width * pixel));
                for (std::size_t i = 0; i < row.size(); i += sizeof(T)) std::memcpy(&row[i], &v, sizeof(T));
            }
        });
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] || sizes.elements() == 0) return;
        const std::int64_t image = sizes.image() * bytes;
        for_images(r.pool, sizes.batch, ns_each(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
                std::byte* to = r.output<std::byte>(0) + b * image;
                if (r.out[0] != r.in[0])
                    std::memcpy(to, r.input<std::byte>(0) + b * image, static_cast<std::size_t>(image));
                each_row(r.input<float>(1), b, [&](std::int64_t at, std::int64_t n) {
                    if (n > 0) std::memcpy(to + at, row.data(), static_cast<std::size_t>(n));
                });
            }
        });
    }
    bool may_share(int i, int) const override { return i == 0; }
    paid_vector<std::byte> row; // of the value
};

} // namespace detail

TENON_INLINE void fill_boxes_op::gradient(gradient_context& g) {
    attributes a = g.attributes<attributes>();
    a.value = 0;
    g.set(0, tenon::add<fill_boxes_op>(a, {g.output_gradient(), g.input(1)}));
}
TENON_KERNEL(fill_boxes, detail::fill_boxes_kernel);
TENON_KERNEL(box_mask, detail::box_mask_kernel);

} // namespace tenon

#endif
