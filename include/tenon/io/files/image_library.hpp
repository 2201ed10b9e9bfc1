#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/array/any_array.hpp>

/// Image files for what does without tenon::image: its functions, where a program links it.

namespace tenon::detail {

struct image_library {
    /// uint8[height, width, channels], as decode_image decodes it; `who` begins the messages.
    any_array (*decode)(std::string_view bytes, int channels, std::int64_t largest_image, const std::string& who);
    /// As encode_png encodes it.
    std::string (*encode_png)(const any_array& image);
    /// The versions of libpng and libjpeg, or what cannot be done without them.
    std::string (*png)();
    std::string (*jpeg)();
};
/// What is registered stays for as long as the process runs.
void register_image_library(const image_library& l) noexcept;
/// nullptr: none is linked.
const image_library* find_image_library() noexcept;
/// Throws unimplemented_error, which says what to link; `who` begins it.
const image_library& require_image_library(const std::string& who);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/files/image_library.ipp>
#endif
