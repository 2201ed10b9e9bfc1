#pragma once

#include <cstdint>

#include <tenon/core/array/any_array.hpp>

/// What is said of images in files.

namespace tenon {

enum class image_format {
    automatic, ///< known by the first bytes
    png,
    jpeg,
    pnm,
};
constexpr const char* name_of(image_format f) noexcept {
    switch (f) {
    case image_format::automatic: return "image";
    case image_format::png: return "PNG";
    case image_format::jpeg: return "JPEG";
    case image_format::pnm: return "PNM";
    }
    return "image";
}
/// Whether this build of Tenon reads and writes it.
bool has_image_format(image_format f) noexcept;

/// How an image is decoded.
struct decode_image_options {
    /// 1 to 4; 0: as stored (a palette is 3, or 4 where some of its colours are not opaque). Gray is
    /// 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601), alpha is left out, or added as opaque.
    int channels = 0;
    /// uint8 or uint16, the full range of which stands for the full range of the file's; none: uint16 where the file has
    /// more than 8 bits a sample, else uint8.
    element_type element = element_type::uint8;
    /// Pixels; an image with more is a resource_exhausted_error, before memory is taken for it.
    std::int64_t largest_image = std::int64_t{1} << 26;
    std::int64_t height = -1, width = -1; ///< another size is an invalid_argument_error; -1: any
    /// Another format is an invalid_argument_error.
    image_format format = image_format::automatic;
};

/// What an image file says of itself, before its pixels.
struct image_header {
    image_format format = image_format::automatic;
    std::int64_t height = 0, width = 0;
    int channels = 0; ///< as stored: what decode_image gives for channels = 0
    int bits = 0;     ///< a sample, 1 to 16
    friend bool operator==(const image_header&, const image_header&) = default;
};

} // namespace tenon
