// What the types of images are that ops on them give.

#include <cstdint>
#include <type_traits>
#include <utility>

#include <tenon/ops/image/image_color.hpp>
#include <tenon/ops/image/image_geometry.hpp>
#include <tenon/ops/image/image_mixing.hpp>
#include <tenon/ops/image/image_resize.hpp>
#include <tenon/ops/image/image_transform.hpp>

namespace tn = tenon;
using tn::dyn, tn::shape, tn::tensor, tn::ill_shaped;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct height : tn::dim<"height"> {} height;

template <class T, class... U> inline constexpr bool is = (std::is_same_v<T, U> && ...);
template <auto... D> using f32 = tensor<float, shape<D...>>;
template <auto... D> using u8 = tensor<std::uint8_t, shape<D...>>;
template <class X> const X& some();

// Flips keep the sizes; which images are mirrored may say the batch.
static_assert(is<decltype(tn::flip_left_right(some<u8<batch, height, dyn, 3>>())), u8<batch, height, dyn, 3>>);
static_assert(is<decltype(tn::random_flip_up_down(some<u8<batch, height, dyn, 3>>())), u8<batch, height, dyn, 3>>);
static_assert(is<decltype(tn::random_flip_left_right(some<u8<4, 5, 3>>(), {.seed = 1})), u8<4, 5, 3>>);
static_assert(
    is<decltype(tn::flip_up_down(some<f32<dyn, 4, 4, 1>>(), some<tensor<bool, shape<8>>>())), f32<8, 4, 4, 1>>);

// Crops, pads and resized images have the sizes that are asked for, whatever is known of the images'.
static_assert(is<decltype(tn::crop<1, 2, 3, 2>(some<u8<batch, 4, 4, 1>>())), u8<batch, 3, 2, 1>>);
static_assert(is<decltype(tn::crop<1, 2, 3, 2>(some<u8<dyn, dyn, 1>>())), u8<3, 2, 1>>);
static_assert(is<decltype(tn::random_crop<24, 20>(some<u8<batch, 28, 28, 1>>(), {.seed = 1})), u8<batch, 24, 20, 1>>);
static_assert(is<decltype(tn::random_crop<24, 20>(some<f32<height, dyn, dyn>>())), f32<24, 20, dyn>>);
static_assert(is<decltype(tn::crop_at<2, 2>(some<f32<batch, 4, 4, 1>>(), some<tensor<std::int32_t, shape<dyn, 2>>>())),
                 f32<batch, 2, 2, 1>>);
static_assert(is<decltype(tn::center_crop<24, 24>(some<f32<batch, dyn, height, 3>>())), f32<batch, 24, 24, 3>>);
static_assert(is<decltype(tn::pad_to<40, 40>(some<f32<batch, 28, 28, 3>>())), f32<batch, 40, 40, 3>>);
static_assert(is<decltype(tn::resize_with_crop_or_pad<8, 40>(some<f32<batch, 28, 28, 3>>())), f32<batch, 8, 40, 3>>);
static_assert(is<decltype(tn::resize<tn::bilinear, 32, 16>(some<f32<batch, dyn, dyn, 3>>())), f32<batch, 32, 16, 3>>);
static_assert(is<decltype(tn::resize<tn::nearest, 32, 16>(some<u8<28, 28, 1>>())), u8<32, 16, 1>>);

// What changes values keeps the type; amounts may say the batch.
static_assert(is<decltype(tn::rotate(some<f32<dyn, 8, 8, 3>>(), 0.5)), f32<dyn, 8, 8, 3>>);
static_assert(is<decltype(tn::rotate(some<f32<dyn, 8, 8, 3>>(), some<f32<batch>>())), f32<batch, 8, 8, 3>>);
static_assert(is<decltype(tn::adjust_brightness(some<f32<dyn, 8, 8, 3>>(), some<f32<4>>())), f32<4, 8, 8, 3>>);
static_assert(
    is<decltype(tn::adjust_hue(tn::cast<float>(some<u8<batch, 8, 8, 3>>()) / 255, 0.1)), f32<batch, 8, 8, 3>>);
static_assert(is<decltype(tn::random_hue(some<f32<batch, dyn, dyn, 3>>(), 0.1)), f32<batch, dyn, dyn, 3>>);
static_assert(is<decltype(tn::rgb_to_grayscale(some<f32<batch, dyn, 8, 3>>())), f32<batch, dyn, 8, 1>>);
static_assert(is<decltype(tn::cutout<4, 4>(some<u8<batch, 8, 8, 3>>())), u8<batch, 8, 8, 3>>);
static_assert(
    is<decltype(tn::box_mask(some<u8<batch, 8, 8, 3>>(), some<f32<batch, 4>>())), tensor<bool, shape<batch, 8, 8, 1>>>);
static_assert(is<decltype(tn::mixup(some<f32<batch, 8, 8, 3>>(), some<f32<batch, 10>>())),
                 std::pair<f32<batch, 8, 8, 3>, f32<batch, 10>>>);

// What a mistaken call returned is taken and given back.
static_assert(is<ill_shaped, decltype(tn::flip_left_right(ill_shaped{})), decltype(tn::random_crop<2, 2>(ill_shaped{})),
                 decltype(tn::resize<tn::bilinear, 2, 2>(ill_shaped{})), decltype(tn::adjust_hue(ill_shaped{}, 0.1)),
                 decltype(tn::rotate(ill_shaped{}, 0.1)), decltype(tn::random_erasing(ill_shaped{})),
                 decltype(tn::normalize(ill_shaped{}, {0.1}, {0.2})), decltype(tn::rgb_to_hsv(ill_shaped{}))>);

} // namespace
