#pragma once

#include <string>

#include <tenon/io/image/image_codecs.hpp>

/// JPEG images (ITU-T T.81), by libjpeg-turbo. To be decoded: io/image/image.hpp.

namespace tenon {

struct encode_jpeg_options {
    int quality = 95; ///< 1 to 100
    bool progressive = false;
};
/// The image [height, width, channels], uint8, of 1 (gray) or 3 channels, as a JPEG file. Throws invalid_argument_error for what
/// is no such image, unimplemented_error in a build without libjpeg.
std::string encode_jpeg(const any_array& image, const encode_jpeg_options& o = {});

namespace detail {
image_header jpeg_header(const image_bytes& from);
any_array jpeg_pixels(const image_bytes& from, const decode_image_options& o);
/// The library's version, or what cannot be done without it.
std::string jpeg_library();
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/image/jpeg.ipp>
#endif
