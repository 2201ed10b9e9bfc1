#pragma once

#include <tenon/io/image/image_codecs.hpp>

namespace tenon::detail {

TENON_INLINE std::string image_words(const image_bytes& from) { return from.who + ": the " + name_of(from.format); }
TENON_INLINE void image_bytes::damaged(const std::string& how) const {
    throw data_loss_error(image_words(*this) + " image of " + std::to_string(bytes.size()) +
                          " bytes is damaged: " + how);
}
TENON_INLINE void image_bytes::cut_off() const {
    throw data_loss_error(image_words(*this) + " image is cut off: it goes on behind its " +
                          std::to_string(bytes.size()) + " bytes");
}
TENON_INLINE void image_bytes::unsupported(const std::string& how) const {
    throw unimplemented_error(image_words(*this) + " image is of a kind that is not read: " + how);
}

TENON_INLINE void image_bytes::check_size(const image_header& h, const decode_image_options& o) const {
    const std::string size = std::to_string(h.width) + " pixels wide and " + std::to_string(h.height) + " high";
    if (h.height * h.width > o.largest_image) // both are below 2^31
        throw resource_exhausted_error(image_words(*this) + " image is " + size + ", " +
                                       std::to_string(h.height * h.width) + " pixels in all, more than the limit of " +
                                       std::to_string(o.largest_image) + " (largest_image)");
    const auto wanted = [](std::int64_t side) {
        return side < 0 ? std::string("any number of") : std::to_string(side);
    };
    if ((o.height >= 0 && o.height != h.height) || (o.width >= 0 && o.width != h.width))
        throw invalid_argument_error(image_words(*this) + " image is " + size + ", but " + wanted(o.width) + " by " +
                                     wanted(o.height) + " pixels are asked for");
}

TENON_INLINE any_array array_for(const image_header& h, const decode_image_options& o) {
    const element_type stored = h.bits > 8 ? element_type::uint16 : element_type::uint8;
    return any_array(o.element == element_type::none ? stored : o.element,
                     {h.height, h.width, o.channels == 0 ? h.channels : o.channels});
}

TENON_INLINE void require_image(const any_array& image, const std::string& who, bool wide, int most_channels,
                                bool alpha) {
    const auto refuse = [&](const std::string& why) {
        throw invalid_argument_error(who + ": " + to_string(image.type()) + " is no image that it can hold: " + why);
    };
    if (image.element() != element_type::uint8 && !(wide && image.element() == element_type::uint16))
        refuse(wide ? "elements must be uint8 or uint16" : "elements must be uint8");
    if (image.rank() != 3) refuse("it must be [height, width, channels]");
    const std::int64_t channels = image.extents()[2].size;
    if (channels < 1 || channels > most_channels || (!alpha && channels % 2 == 0))
        refuse(alpha ? "channels must be 1 to 4" : "channels must be 1 or 3");
    if (image.elements() == 0) refuse("it has no pixels");
    for (int d = 0; d < 2; ++d)
        if (image.extents()[d].size > 0x7fffffff) refuse("a side has more than 2^31 - 1 pixels");
}

TENON_INLINE void lacks_image_library(image_format f, const std::string& who) {
    const bool png = f == image_format::png;
    const std::string library = png ? "libpng" : "libjpeg-turbo";
    throw unimplemented_error(who + ": this build of Tenon has no " + library + ", which " + name_of(f) +
                              " images need: install it (Debian: " + (png ? "libpng-dev" : "libjpeg-dev") +
                              ") and build Tenon again with TENON_WITH_" + name_of(f) + "=ON");
}

} // namespace tenon::detail
