#pragma once

/// Images: their files, and ops on them. They are a library of their own, tenon::image, which tenon::tenon brings; what links
/// tenon::core alone does without.

#include <tenon/io/image/image.hpp> // PNG, JPEG and PNM images

#include <tenon/ops/image/image_geometry.hpp>  // images mirrored, cut and framed
#include <tenon/ops/image/image_resize.hpp>    // in other sizes: nearest, bilinear, area
#include <tenon/ops/image/image_transform.hpp> // turned, moved, stretched
#include <tenon/ops/image/image_color.hpp>     // brightness, contrast, hue, saturation, HSV, normalize
#include <tenon/ops/image/image_mixing.hpp>    // cutout, random erasing, mixup, cutmix
#include <tenon/ops/image/images.hpp>          // what these share
#include <tenon/ops/image/decode_image.hpp>    // images of files, and back
