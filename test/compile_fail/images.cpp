// Images: channels and sizes.
#include <cstdint>

#include <tenon/ops/image/image_color.hpp>
#include <tenon/ops/image/image_geometry.hpp>
#include <tenon/ops/image/image_resize.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case bytes
// error[gcc]: In instantiation of .*tenon::adjust_hue\(
// error: tenon::adjust_hue: colours are computed with floating numbers: write cast<float>\(images\) / 255
auto other_colors(const tn::tensor<std::uint8_t, tn::shape<batch, 32, 32, 3>>& images) {
    return tn::adjust_hue(images, 0.1);                        // wrong
    return tn::adjust_hue(tn::cast<float>(images) / 255, 0.1); // right
}

// case channels
// error[gcc]: rgb_to_grayscale: numbers of channels differ: \[batch, 32, 32, 1\]
// error[clang]: rgb_to_grayscale_rule, tenon::fault::channels_differ, .*batch, .*size<32>, .*size<32>, .*size<1>
constexpr int channels = 1; // wrong
constexpr int channels = 3; // right
auto gray(const tn::tensor<float, tn::shape<batch, 32, 32, channels>>& images) { return tn::rgb_to_grayscale(images); }

// case crop
// error[gcc]: random_crop: slice is out of range: \[batch, 28, 28, 1\] x \[32, 24\]
// error[clang]: random_crop_rule, tenon::fault::slice_out_of_range, .*batch, .*size<28>, .*size<28>, .*size<1>>, .*size<32>, .*size<24>
constexpr int height = 32; // wrong
constexpr int height = 24; // right
auto crops(const tn::tensor<float, tn::shape<batch, 28, 28, 1>>& images) { return tn::random_crop<height, 24>(images); }

// case rank
// error[gcc]: resize: rank is too low: \[batch, 784\]
// error[clang]: resize_rule, tenon::fault::rank_too_low, .*batch, .*size<784>
using images = tn::shape<batch, 784>;       // wrong
using images = tn::shape<batch, 28, 28, 1>; // right
auto larger(const tn::tensor<float, images>& x) { return tn::resize<tn::bilinear, 32, 32>(x); }
