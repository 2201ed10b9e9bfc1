#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/io/image/image_format.hpp>

/// What the readers and writers of single image formats share.

namespace tenon::detail {

/// Bytes that a format was found in, whose messages begin with `who`.
struct image_bytes {
    std::string_view bytes;
    const std::string& who;
    image_format format;

    [[noreturn]] void damaged(const std::string& how) const;     // data_loss_error
    [[noreturn]] void cut_off() const;                           // the same
    [[noreturn]] void unsupported(const std::string& how) const; // unimplemented_error
    /// Throws resource_exhausted_error for an image that is larger than the options allow, invalid_argument_error for one
    /// of another size than they ask for.
    void check_size(const image_header& h, const decode_image_options& o) const;
};

/// Memory for an image that check_size let pass.
any_array array_for(const image_header& h, const decode_image_options& o);

/// Throws invalid_argument_error unless it is [height, width, channels], of such elements and channels, and has pixels.
void require_image(const any_array& image, const std::string& who, bool wide, int most_channels, bool alpha);

/// unimplemented_error: what to install.
[[noreturn]] void lacks_image_library(image_format f, const std::string& who);

// A gray value, rounded.
template <class T> T gray_of(const T* rgb) {
    return static_cast<T>(
        (std::uint64_t{19595} * rgb[0] + std::uint64_t{38470} * rgb[1] + std::uint64_t{7471} * rgb[2] + 32768) >> 16);
}
// One pixel of 1 or 3 channels as one of 1 to 4.
template <class T> void put_pixel(const T* pixel, int has, T* to, int channels) {
    if (channels <= 2) to[0] = has == 1 ? pixel[0] : gray_of(pixel);
    else
        for (int c = 0; c < 3; ++c) to[c] = pixel[has == 1 ? 0 : c];
    if (channels % 2 == 0) to[channels - 1] = static_cast<T>(-1);
}

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/image/image_codecs.ipp>
#endif
