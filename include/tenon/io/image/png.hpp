#pragma once

#include <string>

#include <tenon/io/image/image_codecs.hpp>

/// PNG images (ISO/IEC 15948), by libpng. To be decoded: io/image/image.hpp.

namespace tenon {

struct encode_png_options {
    int compression = -1; ///< 0 (none) to 9 (smallest); -1: zlib's own choice
};
/// The image [height, width, channels], uint8 or uint16, of 1 (gray), 2 (gray, alpha), 3 or 4 channels, as a PNG file. Throws
/// invalid_argument_error for what is no such image, unimplemented_error in a build without libpng.
std::string encode_png(const any_array& image, const encode_png_options& o = {});

namespace detail {
image_header png_header(const image_bytes& from);
any_array png_pixels(const image_bytes& from, const decode_image_options& o);
/// libpng's version, or what cannot be done without it.
std::string png_library();
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/image/png.ipp>
#endif
