#pragma once

#include <tenon/io/image/image.hpp>

#include <tenon/io/files/image_library.hpp>
#include <tenon/io/image/image_codecs.hpp>

namespace tenon {
namespace detail {

TENON_INLINE std::string first_bytes(std::string_view bytes) {
    if (bytes.empty()) return "there are no bytes";
    std::string text = "it begins with", letters;
    for (const char c : bytes.substr(0, 8)) {
        constexpr const char* digits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        text += {' ', digits[byte >> 4], digits[byte & 15]};
        letters += byte >= 0x20 && byte < 0x7f ? c : '.';
    }
    return text + " (\"" + letters + "\")";
}

TENON_INLINE image_format format_in(std::string_view bytes) {
    if (bytes.starts_with("\x89PNG")) return image_format::png;
    if (bytes.starts_with("\xff\xd8\xff")) return image_format::jpeg;
    if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
        std::string_view(" \t\r\n\v\f#").find(bytes[2]) != std::string_view::npos)
        return image_format::pnm;
    return image_format::automatic;
}
TENON_INLINE image_bytes recognized(std::string_view bytes, image_format wanted, const std::string& who) {
    const image_format found = format_in(bytes);
    if (found == image_format::automatic)
        throw invalid_argument_error(who + ": this is no " +
                                     (wanted == image_format::automatic ? "PNG, JPEG or PNM" : name_of(wanted)) +
                                     " image: " + first_bytes(bytes));
    if (wanted != image_format::automatic && wanted != found)
        throw invalid_argument_error(who + ": this is a " + name_of(found) + " image, not a " + name_of(wanted) +
                                     " one: " + first_bytes(bytes));
    return {bytes, who, found};
}

} // namespace detail

TENON_INLINE bool has_image_format(image_format f) noexcept {
    if (f == image_format::png) return TENON_WITH_PNG != 0;
    if (f == image_format::jpeg) return TENON_WITH_JPEG != 0;
    return true;
}

TENON_INLINE image_header read_image_header(std::string_view bytes, const std::string& who) {
    const detail::image_bytes from = detail::recognized(bytes, image_format::automatic, who);
    if (from.format == image_format::png) return detail::png_header(from);
    if (from.format == image_format::jpeg) return detail::jpeg_header(from);
    return detail::pnm_header(from);
}

TENON_INLINE any_array decode_image(std::string_view bytes, const decode_image_options& o, const std::string& who) {
    if (o.channels < 0 || o.channels > 4)
        throw invalid_argument_error(who + ": channels are 1 to 4, or 0 for those of the file, not " +
                                     std::to_string(o.channels));
    if (o.element != element_type::none && o.element != element_type::uint8 && o.element != element_type::uint16)
        throw invalid_argument_error(who + ": images are decoded to uint8 or uint16, not to " +
                                     std::string(name_of(o.element)));
    const detail::image_bytes from = detail::recognized(bytes, o.format, who);
    if (from.format == image_format::png) return detail::png_pixels(from, o);
    if (from.format == image_format::jpeg) return detail::jpeg_pixels(from, o);
    return detail::pnm_pixels(from, o);
}

namespace detail {

TENON_INLINE constexpr image_library image_functions{
    [](std::string_view bytes, int channels, std::int64_t largest_image, const std::string& who) -> any_array {
        return decode_image(bytes, {.channels = channels, .largest_image = largest_image}, who);
    },
    [](const any_array& image) -> std::string { return encode_png(image); }, png_library, jpeg_library};

/// What has a program that links tenon::image linked with it: these functions.
extern "C" {
TENON_INLINE int tenon_image_linked = (register_image_library(image_functions), 1);
}

} // namespace detail
} // namespace tenon
