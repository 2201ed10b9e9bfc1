#pragma once

#include <string>

#include <tenon/io/image/image_codecs.hpp>

/// PNM images: netpbm's PBM, PGM and PPM, as text (P1 to P3) and binary (P4 to P6). To be decoded: io/image/image.hpp.

namespace tenon {

/// The image [height, width, channels], uint8 or uint16, of 1 (gray) or 3 channels, as a binary PGM ("P5") or PPM ("P6") file.
/// Throws invalid_argument_error for what is no such image.
std::string encode_pnm(const any_array& image);

namespace detail {
image_header pnm_header(const image_bytes& from);
any_array pnm_pixels(const image_bytes& from, const decode_image_options& o);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/image/pnm.ipp>
#endif
