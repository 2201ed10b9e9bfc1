#pragma once

#include <string>
#include <string_view>

#include <tenon/io/image/image_format.hpp>
#include <tenon/io/image/jpeg.hpp>
#include <tenon/io/image/png.hpp>
#include <tenon/io/image/pnm.hpp>

/// Images in files: PNG (by libpng), JPEG (by libjpeg-turbo), and PNM (P1 to P6). An image is an array [height, width,
/// channels] of uint8 or uint16 with 1 channel (gray), 2 (gray, alpha), 3 (red, green, blue) or 4 (and alpha), from the
/// top row down. Values are those of the file: no colour profile, gamma or orientation is applied.
///
///     tn::any_array photo = tn::decode_image(bytes, {.channels = 3});
///     std::string small = tn::encode_jpeg(photo, {.quality = 80});

namespace tenon {

/// Whether this build of Tenon reads and writes it.
bool has_image_format(image_format f) noexcept;

/// What the file says of the image before its pixels. Throws as decode_image does; `who` begins the messages.
image_header read_image_header(std::string_view bytes, const std::string& who = "read_image_header");

/// The image that `bytes` begin with; what follows it is not looked at. Of a CMYK or YCCK JPEG red, green and blue. Throws
/// invalid_argument_error, showing the first bytes, for what is none of these formats; data_loss_error for an image that is
/// damaged or cut off; resource_exhausted_error for one that is too large; unimplemented_error for a variant that the libraries
/// do not read, and in a build without the library. `who` begins the messages.
any_array decode_image(std::string_view bytes, const decode_image_options& o = {},
                       const std::string& who = "decode_image");

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/image/image.ipp>
#endif
