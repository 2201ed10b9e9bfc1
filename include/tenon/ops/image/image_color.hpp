#pragma once

#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/formulas.hpp>
#include <tenon/ops/image/images.hpp>

/// Colours of images: float, double, half or bfloat16, usually in 0 .. 1. Bytes are made so by cast<float>(images) / 255.
///
///     auto a = tn::adjust_brightness(images, 0.1);
///     auto c = tn::random_contrast(a, 0.8, 1.25, {.seed = 1});    // each image by a factor of its own
///     auto g = tn::rgb_to_grayscale(c);                           // [batch, 32, 32, 3] -> [batch, 32, 32, 1]
///     auto x = tn::normalize(c, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
///
/// Images are [batch, height, width, channels], or a single one [height, width, channels]; red, green and blue are 3 channels. An amount is a
/// number, or a tensor of the images' type: [batch] or a scalar. Nothing is clipped to 0 .. 1 unless a function says so. Elementwise ops and
/// reductions make all of it: they fuse with what stands around them, and gradients flow through.

namespace tenon {
namespace detail {

/// in: images, and amounts where they are tensors. Channels 0: any number of them.
template <int Channels> struct color_rule {
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (const fault f = fault_of_images(in[0]); f != fault::none) return f;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        const extent& channels = in[0].extents[in[0].extents.rank() - 1];
        if (Channels > 0 && !channels.is_number()) return fault::size_must_be_known;
        if (Channels > 0 && channels.size != Channels) return fault::channels_differ;
        inferred r = in[0];
        for (int i = 1; i < in.size() && r; ++i) {
            if (in[i].element != in[0].element) return fault::element_types_differ;
            if (in[i].extents.rank() > 0) r = images_beside(r.type, in[i].extents, 0);
        }
        return r;
    }
};
struct adjust_brightness_rule : named_rule<"adjust_brightness", color_rule<0>> {};
struct adjust_contrast_rule : named_rule<"adjust_contrast", color_rule<0>> {};
struct adjust_gamma_rule : named_rule<"adjust_gamma", color_rule<0>> {};
struct adjust_hue_rule : named_rule<"adjust_hue", color_rule<3>> {};
struct adjust_saturation_rule : named_rule<"adjust_saturation", color_rule<3>> {};
struct random_brightness_rule : named_rule<"random_brightness", color_rule<0>> {};
struct random_contrast_rule : named_rule<"random_contrast", color_rule<0>> {};
struct random_gamma_rule : named_rule<"random_gamma", color_rule<0>> {};
struct random_hue_rule : named_rule<"random_hue", color_rule<3>> {};
struct random_saturation_rule : named_rule<"random_saturation", color_rule<3>> {};
struct rgb_to_hsv_rule : named_rule<"rgb_to_hsv", color_rule<3>> {};
struct hsv_to_rgb_rule : named_rule<"hsv_to_rgb", color_rule<3>> {};
struct rgb_to_grayscale_rule : color_rule<3> {
    static constexpr const char* name = "rgb_to_grayscale";
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        inferred r = color_rule<3>::infer(a, in, output);
        if (r) r.type.extents[r.type.extents.rank() - 1] = 1;
        return r;
    }
};

struct normalize_rule {
    static constexpr const char* name = "normalize";
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        const inferred r = infer_instruction(opcode::add, in);
        if (r && !is_floating(r.type.element)) return fault::element_type_must_be_floating;
        return r;
    }
};
inline constexpr auto normalize_of = [](auto x, auto mean, auto deviation) { return (x - mean) / deviation; };

template <class T, std::size_t N> auto channel_numbers(const double (&values)[N]) {
    T rounded[N];
    for (std::size_t i = 0; i < N; ++i) rounded[i] = static_cast<T>(values[i]);
    return constant(rounded);
}

/// Bytes are the usual images: what to write for them.
template <class X> inline constexpr bool has_colors = true;
template <class X>
    requires requires { typename X::element_type; }
inline constexpr bool has_colors<X> =
    std::is_same_v<X, ill_shaped> || is_floating(element_type_of<typename X::element_type>);

template <class X> decltype(auto) as_given(const X& x) {
    if constexpr (Operand<X>) return any_tensor(as_tensor(x));
    else return (x);
}
/// How much a colour is changed: a number, or a tensor, of a number for each image, say.
template <class A>
concept ColorAmount = OperandOrIllShaped<A> || std::is_convertible_v<const A&, number>;

// What a rule judges: images, and an amount that is a tensor, which is the first of all.
template <class Images, class... Amounts> struct colored_operands {
    template <class Rule> using verdict = verdict_on_operands<Rule, Images>;
    template <class Rule> static auto typed(any_tensor made) { return typed_by<Rule, Images>(std::move(made)); }
};
template <class Images, OperandOrIllShaped A, class... More> struct colored_operands<Images, A, More...> {
    template <class Rule> using verdict = verdict_on_operands<Rule, Images, A>;
    template <class Rule> static auto typed(any_tensor made) { return typed_by<Rule, Images, A>(std::move(made)); }
};
/// What `make` makes of images and amounts, where Rule takes them.
template <class Rule, class Images, class F, class... A>
auto colored(F make, const Images& images, const A&... amounts) {
    if constexpr (!has_colors<Images>) return ill_shaped{};
    else {
        using operands = colored_operands<Images, A...>;
        using verdict = typename operands::template verdict<Rule>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else return operands::template typed<Rule>(make(as_tensor(images), as_given(amounts)..., caller()));
    }
}

} // namespace detail

namespace untyped {
any_tensor adjust_brightness(const any_tensor& images, const tensor_or_number& delta, called_from here = caller());
any_tensor adjust_contrast(const any_tensor& images, const tensor_or_number& factor, called_from here = caller());
any_tensor adjust_hue(const any_tensor& images, const tensor_or_number& delta, called_from here = caller());
any_tensor adjust_saturation(const any_tensor& images, const tensor_or_number& factor, called_from here = caller());
any_tensor adjust_gamma(const any_tensor& images, const tensor_or_number& gamma, const tensor_or_number& gain = 1,
                        called_from here = caller());
any_tensor random_brightness(const any_tensor& images, double most, const seeded& o = {}, called_from here = caller());
any_tensor random_contrast(const any_tensor& images, double low, double high, const seeded& o = {},
                           called_from here = caller());
any_tensor random_hue(const any_tensor& images, double most, const seeded& o = {}, called_from here = caller());
any_tensor random_saturation(const any_tensor& images, double low, double high, const seeded& o = {},
                             called_from here = caller());
any_tensor random_gamma(const any_tensor& images, double low, double high, const seeded& o = {},
                        called_from here = caller());
any_tensor rgb_to_grayscale(const any_tensor& images, called_from here = caller());
any_tensor rgb_to_hsv(const any_tensor& images, called_from here = caller());
any_tensor hsv_to_rgb(const any_tensor& images, called_from here = caller());
any_tensor normalize(const any_tensor& images, const tensor_or_number& mean, const tensor_or_number& deviation,
                     called_from here = caller());
} // namespace untyped

#define TENON_OF_COLORS(NAME) \
    "tenon::" NAME ": colours are computed with floating numbers: write cast<float>(images) / 255"

/// images + delta.
template <OperandOrIllShaped X, detail::ColorAmount A>
auto adjust_brightness(const X& images, const A& delta, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("adjust_brightness"));
    return detail::colored<detail::adjust_brightness_rule>(untyped::adjust_brightness, images, delta);
}
/// Each channel of each image is moved away from its mean, or towards it: (images - mean) * factor + mean.
template <OperandOrIllShaped X, detail::ColorAmount A>
auto adjust_contrast(const X& images, const A& factor, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("adjust_contrast"));
    return detail::colored<detail::adjust_contrast_rule>(untyped::adjust_contrast, images, factor);
}
/// The hue turned by delta, in turns: 1/3 makes red green. Saturation and value in the sense of HSV stay.
template <OperandOrIllShaped X, detail::ColorAmount A>
auto adjust_hue(const X& images, const A& delta, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("adjust_hue"));
    return detail::colored<detail::adjust_hue_rule>(untyped::adjust_hue, images, delta);
}
/// The saturation in the sense of HSV times the factor, at most 1. Hue and value stay; 0 makes gray of the value.
template <OperandOrIllShaped X, detail::ColorAmount A>
auto adjust_saturation(const X& images, const A& factor, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("adjust_saturation"));
    return detail::colored<detail::adjust_saturation_rule>(untyped::adjust_saturation, images, factor);
}
/// gain * images^gamma.
template <OperandOrIllShaped X, detail::ColorAmount A>
auto adjust_gamma(const X& images, const A& gamma, const number& gain = 1, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("adjust_gamma"));
    return detail::colored<detail::adjust_gamma_rule>(untyped::adjust_gamma, images, gamma, gain);
}

/// adjust_brightness by an amount for each image, even in [-most, most). The random functions throw invalid_argument_error
/// for bounds that are not finite or not in order; equal ones are that number.
template <OperandOrIllShaped X>
auto random_brightness(const X& images, double most, const seeded& o = {}, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("random_brightness"));
    return detail::colored<detail::random_brightness_rule>(untyped::random_brightness, images, most, o);
}
/// adjust_contrast by a factor for each image, even in [low, high).
template <OperandOrIllShaped X>
auto random_contrast(const X& images, double low, double high, const seeded& o = {}, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("random_contrast"));
    return detail::colored<detail::random_contrast_rule>(untyped::random_contrast, images, low, high, o);
}
/// adjust_hue by an amount for each image, even in [-most, most); most is at most 1/2, which is any hue.
template <OperandOrIllShaped X>
auto random_hue(const X& images, double most, const seeded& o = {}, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("random_hue"));
    return detail::colored<detail::random_hue_rule>(untyped::random_hue, images, most, o);
}
/// adjust_saturation by a factor for each image, even in [low, high).
template <OperandOrIllShaped X>
auto random_saturation(const X& images, double low, double high, const seeded& o = {}, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("random_saturation"));
    return detail::colored<detail::random_saturation_rule>(untyped::random_saturation, images, low, high, o);
}
/// adjust_gamma with an exponent for each image, even in [low, high).
template <OperandOrIllShaped X>
auto random_gamma(const X& images, double low, double high, const seeded& o = {}, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("random_gamma"));
    return detail::colored<detail::random_gamma_rule>(untyped::random_gamma, images, low, high, o);
}

/// 0.2989 red + 0.5870 green + 0.1140 blue (the luma of ITU-R BT.601): one channel.
template <OperandOrIllShaped X> auto rgb_to_grayscale(const X& images, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("rgb_to_grayscale"));
    return detail::colored<detail::rgb_to_grayscale_rule>(untyped::rgb_to_grayscale, images);
}
/// Hue (in turns, 0 is red; 0 for grays), saturation and value, each in 0 .. 1 for colours in 0 .. 1. (A. R. Smith, "Color
/// gamut transform pairs", 1978.)
template <OperandOrIllShaped X> auto rgb_to_hsv(const X& images, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("rgb_to_hsv"));
    return detail::colored<detail::rgb_to_hsv_rule>(untyped::rgb_to_hsv, images);
}
/// The reverse; hues are taken modulo 1.
template <OperandOrIllShaped X> auto hsv_to_rgb(const X& images, called_from here = caller()) {
    const making made(here);
    static_assert(detail::has_colors<X>, TENON_OF_COLORS("hsv_to_rgb"));
    return detail::colored<detail::hsv_to_rgb_rule>(untyped::hsv_to_rgb, images);
}

#undef TENON_OF_COLORS

/// (images - mean) / deviation, as an expression; both broadcast to the images: numbers, or tensors as [channels].
template <class X, class M, class D>
    requires detail::ElementwiseOperands<X, M, D>
auto normalize(X&& images, M&& mean, D&& deviation, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::normalize_rule>(detail::normalize_of, static_cast<X&&>(images),
                                                         static_cast<M&&>(mean), static_cast<D&&>(deviation));
}
/// A mean and a deviation for each channel: normalize(images, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}).
template <Operand X, std::size_t Channels>
auto normalize(const X& images, const double (&mean)[Channels], const double (&deviation)[Channels],
               called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else {
        using T = typename X::element_type;
        return normalize(detail::as_tensor(images), detail::channel_numbers<T>(mean),
                         detail::channel_numbers<T>(deviation));
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_image_color)

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/indexing.hpp>

namespace tenon {

namespace detail {

inline any_tensor channel(const any_tensor& images, std::int64_t i) {
    std::vector<range> ranges(static_cast<std::size_t>(images.rank()));
    ranges.back() = {i, i + 1, 1};
    return untyped::slice(images, ranges);
}
template <class Rule> void check_color(const any_tensor& images, const untyped::tensor_or_number& amount = 0) {
    if (amount.tensor()) check_operands<Rule>({images, *amount.tensor()});
    else check_operands<Rule>({images});
}
/// An amount as a tensor that broadcasts to the images.
inline any_tensor amount_beside(const any_tensor& images, const untyped::tensor_or_number& amount) {
    const untyped::tensor_or_number shaped = beside_images(amount);
    return shaped.tensor() ? *shaped.tensor() : untyped::scalar(shaped.number(), images.element());
}

// Colours are computed channel by channel, so that all that is computed together has the same sizes: to repeat one number for
// each of three channels would take far longer than to take them apart and put them together.
inline std::vector<any_tensor> channels_of(const any_tensor& images, std::int64_t n) {
    std::vector<any_tensor> channels;
    for (std::int64_t i = 0; i < n; ++i) channels.push_back(channel(images, i));
    return channels;
}

/// Red, green and blue, the largest of them, and its distance from the smallest: each with one channel.
struct value_and_chroma {
    explicit value_and_chroma(const any_tensor& images) : rgb(channels_of(images, 3)) {
        using namespace untyped;
        value = untyped::maximum(untyped::maximum(rgb[0], rgb[1]), rgb[2]);
        chroma = subtract(value, untyped::minimum(untyped::minimum(rgb[0], rgb[1]), rgb[2]));
    }
    /// The hue in sixths of a turn, -1 .. 5.
    any_tensor sixths() const {
        using namespace untyped;
        const any_tensor &r = rgb[0], &g = rgb[1], &b = rgb[2];
        const any_tensor is_gray = equal(chroma, 0), c = select(is_gray, 1, chroma);
        const any_tensor from_green = add(divide(subtract(b, r), c), 2), from_blue = add(divide(subtract(r, g), c), 4);
        return select(
            is_gray, 0,
            select(equal(value, r), divide(subtract(g, b), c), select(equal(value, g), from_green, from_blue)));
    }
    std::vector<any_tensor> rgb;
    any_tensor value, chroma;
};

/// value - chroma * max(0, min(k, 4 - k, 1)), k = (5, 3, 1 + sixths) mod 6 for red, green, blue.
inline any_tensor rgb_of(const any_tensor& sixths, const any_tensor& chroma, const any_tensor& value) {
    using namespace untyped;
    std::vector<any_tensor> rgb;
    for (const int first : {5, 3, 1}) {
        const any_tensor turned = add(sixths, first);
        const any_tensor k = subtract(turned, multiply(floor(multiply(turned, 1.0 / 6)), 6));
        const any_tensor less = untyped::maximum(untyped::minimum(untyped::minimum(k, subtract(4, k)), 1), 0);
        rgb.push_back(subtract(value, multiply(chroma, less)));
    }
    return concat(rgb, -1);
}

} // namespace detail

namespace untyped {

TENON_INLINE any_tensor adjust_brightness(const any_tensor& images, const tensor_or_number& delta, called_from here) {
    const making made(here);
    detail::check_color<detail::adjust_brightness_rule>(images, delta);
    return add(images, detail::amount_beside(images, delta));
}
TENON_INLINE any_tensor adjust_contrast(const any_tensor& images, const tensor_or_number& factor, called_from here) {
    const making made(here);
    detail::check_color<detail::adjust_contrast_rule>(images, factor);
    const any_tensor by = detail::amount_beside(images, factor);
    const auto away = [&](const any_tensor& x, const index_list& axes) {
        const any_tensor center = mean(x, axes, true);
        return add(multiply(subtract(x, center), by), center);
    };
    const extent channels = images.extents()[images.rank() - 1];
    if (!channels.is_number() || channels.size < 1 || channels.size > 4) return away(images, {-3, -2});
    std::vector<any_tensor> parts;
    for (const any_tensor& c : detail::channels_of(images, channels.size)) parts.push_back(away(c, {-3, -2, -1}));
    return parts.size() == 1 ? parts[0] : concat(parts, -1);
}
TENON_INLINE any_tensor adjust_hue(const any_tensor& images, const tensor_or_number& delta, called_from here) {
    const making made(here);
    detail::check_color<detail::adjust_hue_rule>(images, delta);
    const detail::value_and_chroma of(images);
    const any_tensor sixths = add(of.sixths(), multiply(detail::amount_beside(images, delta), 6));
    return detail::rgb_of(sixths, of.chroma, of.value);
}
TENON_INLINE any_tensor adjust_saturation(const any_tensor& images, const tensor_or_number& factor, called_from here) {
    const making made(here);
    detail::check_color<detail::adjust_saturation_rule>(images, factor);
    // With hue and value kept, each channel's distance from the value grows as the saturation does: by the factor, or by
    // 1 / saturation = value / chroma, where that is less.
    const detail::value_and_chroma of(images);
    const any_tensor is_gray = equal(of.chroma, 0);
    const any_tensor by = minimum(detail::amount_beside(images, factor),
                                  select(is_gray, 1, divide(of.value, select(is_gray, 1, of.chroma))));
    std::vector<any_tensor> parts;
    for (const any_tensor& c : of.rgb) parts.push_back(subtract(of.value, multiply(subtract(of.value, c), by)));
    return concat(parts, -1);
}
TENON_INLINE any_tensor adjust_gamma(const any_tensor& images, const tensor_or_number& gamma,
                                     const tensor_or_number& gain, called_from here) {
    const making made(here);
    detail::check_color<detail::adjust_gamma_rule>(images, gamma);
    detail::check_color<detail::adjust_gamma_rule>(images, gain);
    const any_tensor power = pow(images, detail::amount_beside(images, gamma));
    if (!gain.tensor() && gain.number().as_double() == 1) return power;
    return multiply(power, detail::amount_beside(images, gain));
}

TENON_INLINE any_tensor random_brightness(const any_tensor& images, double most, const seeded& o, called_from here) {
    const making made(here);
    detail::check_color<detail::random_brightness_rule>(images);
    return adjust_brightness(
        images, detail::amount_per_image("random_brightness", images, detail::drawn::brightness, o.seed, -most, most));
}
TENON_INLINE any_tensor random_contrast(const any_tensor& images, double low, double high, const seeded& o,
                                        called_from here) {
    const making made(here);
    detail::check_color<detail::random_contrast_rule>(images);
    return adjust_contrast(
        images, detail::amount_per_image("random_contrast", images, detail::drawn::contrast, o.seed, low, high));
}
TENON_INLINE any_tensor random_hue(const any_tensor& images, double most, const seeded& o, called_from here) {
    const making made(here);
    detail::check_color<detail::random_hue_rule>(images);
    if (!(most <= 0.5))
        throw invalid_argument_error("random_hue: " + detail::text_of_number(most) +
                                     " is more than half a turn; give at most 0.5, which is any hue");
    return adjust_hue(images, detail::amount_per_image("random_hue", images, detail::drawn::hue, o.seed, -most, most));
}
TENON_INLINE any_tensor random_saturation(const any_tensor& images, double low, double high, const seeded& o,
                                          called_from here) {
    const making made(here);
    detail::check_color<detail::random_saturation_rule>(images);
    return adjust_saturation(
        images, detail::amount_per_image("random_saturation", images, detail::drawn::saturation, o.seed, low, high));
}
TENON_INLINE any_tensor random_gamma(const any_tensor& images, double low, double high, const seeded& o,
                                     called_from here) {
    const making made(here);
    detail::check_color<detail::random_gamma_rule>(images);
    return adjust_gamma(images,
                        detail::amount_per_image("random_gamma", images, detail::drawn::gamma, o.seed, low, high));
}

TENON_INLINE any_tensor rgb_to_grayscale(const any_tensor& images, called_from here) {
    const making made(here);
    detail::check_color<detail::rgb_to_grayscale_rule>(images);
    const std::vector<any_tensor> rgb = detail::channels_of(images, 3);
    return add(add(multiply(rgb[0], 0.2989), multiply(rgb[1], 0.5870)), multiply(rgb[2], 0.1140));
}
TENON_INLINE any_tensor rgb_to_hsv(const any_tensor& images, called_from here) {
    const making made(here);
    detail::check_color<detail::rgb_to_hsv_rule>(images);
    const detail::value_and_chroma of(images);
    const any_tensor sixths = of.sixths();
    const any_tensor hue = multiply(select(less(sixths, 0), add(sixths, 6), sixths), 1.0 / 6);
    const any_tensor is_black = equal(of.value, 0);
    const any_tensor saturation = select(is_black, 0, divide(of.chroma, select(is_black, 1, of.value)));
    return concat({hue, saturation, of.value}, -1);
}
TENON_INLINE any_tensor hsv_to_rgb(const any_tensor& images, called_from here) {
    const making made(here);
    detail::check_color<detail::hsv_to_rgb_rule>(images);
    const any_tensor value = detail::channel(images, 2);
    return detail::rgb_of(multiply(detail::channel(images, 0), 6), multiply(value, detail::channel(images, 1)), value);
}
TENON_INLINE any_tensor normalize(const any_tensor& images, const tensor_or_number& mean,
                                  const tensor_or_number& deviation, called_from here) {
    const making made(here);
    const auto beside = [&](const tensor_or_number& n) {
        return n.tensor() ? *n.tensor() : scalar(n.number(), images.element());
    };
    detail::check_operands<detail::normalize_rule>({images, beside(mean), beside(deviation)});
    return divide(subtract(images, beside(mean)), beside(deviation));
}

} // namespace untyped

} // namespace tenon

#endif
