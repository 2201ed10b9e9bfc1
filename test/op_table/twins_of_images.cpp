#include <tenon/input.hpp>

#include "twins.hpp"

// The typed and the untyped functions on images.

using namespace op_table;

namespace {
using batch_of_images = shape<batch, 6, 5, 3>;
} // namespace

TEST_CASE("typed and untyped: images mirrored, cut, framed and resized") {
    twins t;
    const auto x = t.operand<float, batch_of_images>(0, 1);
    const auto bytes = t.given<std::uint8_t, batch_of_images>({1, 255, 7, 30, 90});
    const auto which = t.given<bool, shape<batch>>({1, 0, 1});
    const auto places = t.given<std::int32_t, shape<batch, 2>>({2, 0, 1, 2});
    t.same("flip_left_right", flip_left_right(x), untyped::flip_left_right(x));
    t.same("flip_left_right", flip_left_right(bytes, which), untyped::flip_left_right(bytes, which));
    t.same("flip_up_down", flip_up_down(bytes), untyped::flip_up_down(bytes));
    t.same("flip_up_down", flip_up_down(x, which), untyped::flip_up_down(x, which));
    t.same("random_flip_left_right", random_flip_left_right(bytes, {.seed = 3}),
           untyped::random_flip_left_right(bytes, {.seed = 3}));
    t.same("random_flip_up_down", random_flip_up_down(x, {.probability = 0.9, .seed = 3}),
           untyped::random_flip_up_down(x, {.probability = 0.9, .seed = 3}));
    t.same("crop", crop<1, 2, 3, 2>(x), untyped::crop(x, 1, 2, 3, 2));
    t.same("crop_at", crop_at<3, 2>(bytes, places), untyped::crop_at(bytes, places, 3, 2));
    t.same("random_crop", random_crop<3, 2>(bytes, {.seed = 5}), untyped::random_crop(bytes, 3, 2, {.seed = 5}));
    t.same("center_crop", center_crop<3, 2>(x), untyped::center_crop(x, 3, 2));
    t.same("pad_to", pad_to<8, 8>(bytes, 9), untyped::pad_to(bytes, 8, 8, 9));
    t.same("resize_with_crop_or_pad", resize_with_crop_or_pad<8, 2>(x), untyped::resize_with_crop_or_pad(x, 8, 2));
    t.same("resize", resize<nearest, 4, 9>(bytes), untyped::resize(bytes, nearest, 4, 9));
    t.same("resize", resize<bilinear, 4, 9>(x), untyped::resize(x, bilinear, 4, 9));
    t.same("resize", resize<interpolation::area, 4, 3>(x), untyped::resize(x, interpolation::area, 4, 3));
}

TEST_CASE("typed and untyped: images turned, hidden and mixed") {
    twins t;
    const auto x = t.operand<float, batch_of_images>(0, 1);
    const auto labels = t.operand<double, shape<batch, 4>>(0, 1);
    const auto angles = t.operand<float, shape<batch>>();
    const auto matrices = t.operand<float, shape<batch, 6>>();
    const auto boxes = t.operand<float, shape<batch, 4>>(0, 1);
    t.same("affine_transform", affine_transform(x, matrices, {.value = 2}),
           untyped::affine_transform(x, matrices, {.value = 2}));
    t.same("rotate", rotate(x, 0.4), untyped::rotate(x, 0.4));
    t.same("rotate", rotate(x, angles, {.method = nearest}), untyped::rotate(x, angles, {.method = nearest}));
    t.same("random_rotation", random_rotation(x, 0.4, {.seed = 2}), untyped::random_rotation(x, 0.4, {.seed = 2}));
    t.same("box_mask", box_mask(x, boxes), untyped::box_mask(x, boxes));
    t.same("cutout", cutout<2, 3>(x, {.seed = 2}), untyped::cutout(x, 2, 3, {.seed = 2}));
    t.same("random_erasing", random_erasing(x, {.value = 2, .seed = 2}),
           untyped::random_erasing(x, {.value = 2, .seed = 2}));
    const auto up = untyped::mixup(x, labels, {.alpha = 0.3, .seed = 2});
    t.same_parts("mixup", mixup(x, labels, {.alpha = 0.3, .seed = 2}), {up.first, up.second});
    const auto mix = untyped::cutmix(x, labels, {.seed = 2});
    t.same_parts("cutmix", cutmix(x, labels, {.seed = 2}), {mix.first, mix.second});
}

TEST_CASE("typed and untyped: colours") {
    twins t;
    const auto x = t.operand<float, batch_of_images>(0, 1);
    const auto amounts = t.operand<float, shape<batch>>(0.5, 1.5);
    const auto mean = t.operand<float, shape<3>>();
    t.same("adjust_brightness", adjust_brightness(x, 0.25), untyped::adjust_brightness(x, 0.25));
    t.same("adjust_contrast", adjust_contrast(x, amounts), untyped::adjust_contrast(x, amounts));
    t.same("adjust_hue", adjust_hue(x, 0.25), untyped::adjust_hue(x, 0.25));
    t.same("adjust_saturation", adjust_saturation(x, amounts), untyped::adjust_saturation(x, amounts));
    t.same("adjust_gamma", adjust_gamma(x, amounts, 0.5), untyped::adjust_gamma(x, amounts, 0.5));
    t.same("random_brightness", random_brightness(x, 0.2, {.seed = 1}),
           untyped::random_brightness(x, 0.2, {.seed = 1}));
    t.same("random_contrast", random_contrast(x, 0.5, 2, {.seed = 1}),
           untyped::random_contrast(x, 0.5, 2, {.seed = 1}));
    t.same("random_hue", random_hue(x, 0.2, {.seed = 1}), untyped::random_hue(x, 0.2, {.seed = 1}));
    t.same("random_saturation", random_saturation(x, 0.5, 2, {.seed = 1}),
           untyped::random_saturation(x, 0.5, 2, {.seed = 1}));
    t.same("random_gamma", random_gamma(x, 0.5, 2, {.seed = 1}), untyped::random_gamma(x, 0.5, 2, {.seed = 1}));
    t.same("rgb_to_grayscale", rgb_to_grayscale(x), untyped::rgb_to_grayscale(x));
    t.same("rgb_to_hsv", rgb_to_hsv(x), untyped::rgb_to_hsv(x));
    t.same("hsv_to_rgb", hsv_to_rgb(x), untyped::hsv_to_rgb(x));
    t.same("normalize", normalize(x, mean, 0.5f), untyped::normalize(x, mean, 0.5), 1e-6);
}
