#pragma once

#include <cstdint>

#include <tenon/expr/tree.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/graph/tensor_or_number.hpp>
#include <tenon/simd/philox.hpp>

/// What the ops on images share. Images are [batch, height, width, channels]; a single one is [height, width, channels].
///
///     image_geometry.hpp     flips, crops, pads
///     image_resize.hpp       resize: nearest, bilinear, area
///     image_transform.hpp    rotation, and any affine transformation
///     image_color.hpp        brightness, contrast, hue, saturation, gamma, HSV, gray, normalize
///     image_mixing.hpp       cutout, random erasing, mixup, cutmix
///
/// What is random is drawn for each image of a batch, anew in each run. Seeds are as in ops/random/random.hpp (SEMANTICS 21): 0 is
/// "not set". Functions that are given the same seed draw independently of each other.

namespace tenon {

/// Of a function whose one option it is: random_crop<24, 24>(images, {.seed = 1}).
struct seeded {
    std::uint64_t seed = 0;
};

/// in: images, whose values do not matter. Zeros, as many for each image: [batch, tail ...], or of a single image [tail ...].
/// What is drawn for each image is drawn in these sizes.
struct per_image_op {
    static constexpr const char* name = "per_image";
    struct attributes {
        index_list tail;
    };
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static constexpr inferred infer(const attributes& a, type_list in, int);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(images, per_image);

namespace detail {

constexpr fault fault_of_images(const tensor_type& x) noexcept {
    if (x.element == element_type::string) return fault::element_type_not_supported;
    if (x.extents.rank() < 3) return fault::rank_too_low;
    return x.extents.rank() > 4 ? fault::rank_too_high : fault::none;
}
constexpr bool is_batch(const extents& images) noexcept { return images.rank() == 4; }

/// Images of another height and width.
constexpr inferred images_of(const tensor_type& x, const extent& height, const extent& width) noexcept {
    extents sizes = x.extents;
    sizes[sizes.rank() - 3] = height;
    sizes[sizes.rank() - 2] = width;
    return inferred(x.element, sizes);
}

/// x where `rows` are [batch, n], or [n] of a single image; n = 0: [batch], or [].
constexpr inferred images_beside(const tensor_type& x, const extents& rows, std::int64_t n) noexcept {
    const int batch = is_batch(x.extents) ? 1 : 0;
    if (rows.rank() != batch + (n > 0 ? 1 : 0)) return fault::ranks_differ;
    if (n > 0)
        if (const fault f = equal_sizes(rows[batch], n).what; f != fault::none) return f;
    tensor_type result = x;
    if (batch) {
        const merged_extent m = equal_sizes(x.extents[0], rows[0]);
        if (m.what != fault::none) return m.what == fault::sizes_differ ? fault::batch_sizes_differ : m.what;
        result.extents[0] = m.size;
    }
    return result;
}

/// The tensor that a function gives which is made of other ops, as its rule says.
template <class Rule, class... Xs> auto typed_by(any_tensor made) {
    return op_result_t<Rule, without_attributes, 0, void, operand_of_t<Xs>...>::unchecked(std::move(made));
}

/// The seed of one of several things that are drawn from one; 0 stays "not set".
constexpr std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t which) noexcept {
    if (seed == 0) return 0;
    const std::uint64_t derived = random_key(seed, which);
    return derived == 0 ? 1 : derived;
}
/// What is drawn, by which derived_seed tells draws apart.
enum class drawn : std::uint64_t {
    flip_left_right = 0x696D6167651,
    flip_up_down,
    crop,
    brightness,
    contrast,
    hue,
    saturation,
    gamma,
    angle,
    cutout,
    erased,
    erased_place,
    erased_area,
    erased_aspect,
    partner,
    weight,
    weight_angle,
    cut_place,
};
constexpr std::uint64_t seed_of(drawn what, std::uint64_t seed) noexcept {
    return derived_seed(seed, static_cast<std::uint64_t>(what));
}

/// Zeros of the sizes [batch, tail ...].
any_tensor per_image(const any_tensor& images, const index_list& tail = {});
/// Float numbers of these sizes, even in [low, high).
any_tensor uniform_per_image(const any_tensor& images, drawn what, std::uint64_t seed, double low = 0, double high = 1,
                             const index_list& tail = {});
/// The same in the images' element type; low itself where the bounds are equal. Throws invalid_argument_error, naming the
/// function, where they are not in order or not finite.
untyped::tensor_or_number amount_per_image(const char* function, const any_tensor& images, drawn what,
                                           std::uint64_t seed, double low, double high);
/// Of [batch]: [batch, 1, 1, 1]; a number or a scalar stays.
untyped::tensor_or_number beside_images(const untyped::tensor_or_number& amount);

} // namespace detail

constexpr inferred per_image_op::infer(const attributes& a, type_list in, int) {
    if (in.size() != 1) return fault::expects_more_operands;
    if (const fault f = detail::fault_of_images(in[0]); f != fault::none) return f;
    extents sizes;
    if (detail::is_batch(in[0].extents)) sizes.push_back(in[0].extents[0]);
    for (const std::int64_t n : a.tail) {
        if (n < 0) return fault::size_must_be_known;
        sizes.push_back(n);
    }
    return inferred(element_type::float32, sizes);
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_images)

#include <cmath>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/shape/reshape.hpp>

namespace tenon {

namespace detail {

TENON_INLINE any_tensor per_image(const any_tensor& images, const index_list& tail) {
    return tenon::add<per_image_op>({tail}, {images});
}
TENON_INLINE any_tensor uniform_per_image(const any_tensor& images, drawn what, std::uint64_t seed, double low,
                                          double high, const index_list& tail) {
    return untyped::random_uniform_like(per_image(images, tail), low, high, seed_of(what, seed));
}
TENON_INLINE untyped::tensor_or_number amount_per_image(const char* function, const any_tensor& images, drawn what,
                                                        std::uint64_t seed, double low, double high) {
    if (low == high && std::isfinite(low)) return low;
    check_interval(function, low, high);
    return untyped::cast(uniform_per_image(images, what, seed, low, high), images.element());
}
TENON_INLINE untyped::tensor_or_number beside_images(const untyped::tensor_or_number& amount) {
    const any_tensor* t = amount.tensor();
    return t && t->rank() == 1 ? untyped::tensor_or_number(untyped::expand_dims(*t, {1, 2, 3})) : amount;
}

struct per_image_kernel final : kernel {
    explicit per_image_kernel(const kernel_setup& s) :
        bytes(static_cast<std::size_t>(s.outputs[0].extents.elements()) * sizeof(float)) {}
    void run(const kernel_run& r) override {
        if (r.out[0] && bytes > 0) std::memset(r.out[0], 0, bytes);
    }
    double cost() const override { return 10 + 0.05 * static_cast<double>(bytes); }
    std::size_t bytes;
};

} // namespace detail

TENON_KERNEL(per_image, detail::per_image_kernel);

} // namespace tenon

#endif
