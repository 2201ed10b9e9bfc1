#pragma once

#include <tenon/io/image/pnm.hpp>

#include <algorithm>
#include <cstring>

namespace tenon {
namespace detail {

// A PNM file (netpbm's pbm, pgm, ppm): "P1" to "P6", width, height and, but for bitmaps, the largest value, between which are
// spaces and comments; then the samples, as text (P1 to P3) or as bytes behind one space.
class pnm_parser {
public:
    explicit pnm_parser(const image_bytes& from) : from_(from), rest_(from.bytes) {
        kind_ = rest_[1] - '0';
        rest_.remove_prefix(2);
        header_.format = image_format::pnm;
        header_.channels = kind_ % 3 == 0 ? 3 : 1;
        header_.width = size("width");
        header_.height = size("height");
        if (!is_bitmap()) {
            largest_ = number("largest value");
            if (largest_ < 1 || largest_ > 65535)
                from_.damaged("its largest value is " + std::to_string(largest_) + ", and must be 1 to 65535");
        }
        while (header_.bits < 16 && (1U << header_.bits) <= largest_) ++header_.bits;
        if (is_raw()) {
            if (rest_.empty()) from_.cut_off();
            if (!is_space(rest_[0])) from_.damaged("there is no space before its samples" + here());
            rest_.remove_prefix(1);
        }
    }
    const image_header& header() const { return header_; }

    any_array pixels(const decode_image_options& o) {
        const std::uint64_t samples = static_cast<std::uint64_t>(header_.height) *
                                      static_cast<std::uint64_t>(header_.width) *
                                      static_cast<std::uint64_t>(header_.channels);
        // What is not there takes no memory. A digit of a bitmap needs no space beside it.
        const std::uint64_t row_bytes = is_bitmap() ? (static_cast<std::uint64_t>(header_.width) + 7) / 8 : 0;
        const std::uint64_t needed = !is_raw()   ? (is_bitmap() ? samples : 2 * samples - 1)
                                     : row_bytes ? row_bytes * static_cast<std::uint64_t>(header_.height)
                                     : is_wide() ? 2 * samples
                                                 : samples;
        from_.check_size(header_, o);
        if (needed > rest_.size()) from_.cut_off();
        any_array image = array_for(header_, o);
        if (image.element() == element_type::uint8) read(image.data<std::uint8_t>(), image);
        else read(image.data<std::uint16_t>(), image);
        return image;
    }

private:
    static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
    bool is_bitmap() const { return kind_ % 3 == 1; }
    bool is_raw() const { return kind_ > 3; }
    bool is_wide() const { return largest_ > 255; }
    std::string here() const { return " (byte " + std::to_string(from_.bytes.size() - rest_.size()) + ")"; }

    void skip_spaces() {
        while (!rest_.empty() && (is_space(rest_[0]) || rest_[0] == '#'))
            rest_.remove_prefix(rest_[0] == '#' ? std::min(rest_.find_first_of("\r\n"), rest_.size()) : 1);
        if (rest_.empty()) from_.cut_off();
    }
    std::uint32_t number(const char* what) {
        skip_spaces();
        std::uint64_t n = 0;
        std::size_t digits = 0;
        for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
            n = 10 * n + static_cast<std::uint64_t>(rest_[digits] - '0');
            if (n > 0x7fffffff) from_.damaged(std::string("its ") + what + " is more than 2^31 - 1" + here());
        }
        if (digits == 0) from_.damaged(std::string("where its ") + what + " should be is no number" + here());
        rest_.remove_prefix(digits);
        return static_cast<std::uint32_t>(n);
    }
    std::int64_t size(const char* what) {
        const std::uint32_t n = number(what);
        if (n == 0) from_.damaged(std::string("its ") + what + " is 0");
        return n;
    }

    // The next sample.
    std::uint32_t next() {
        if (!is_raw()) {
            if (!is_bitmap()) return number("next sample");
            skip_spaces();
            const char c = rest_[0];
            if (c != '0' && c != '1') from_.damaged("where its next sample should be is neither 0 nor 1" + here());
            rest_.remove_prefix(1);
            return c == '0'; // 1 is black
        }
        const std::size_t bytes = is_wide() ? 2 : 1; // the bits of a bitmap are taken elsewhere
        std::uint32_t n = static_cast<unsigned char>(rest_[0]);
        if (is_wide()) n = n << 8 | static_cast<unsigned char>(rest_[1]);
        rest_.remove_prefix(bytes);
        return n;
    }
    template <class T> T scaled(std::uint32_t sample) const {
        constexpr std::uint32_t full = static_cast<T>(-1);
        if (sample > largest_)
            from_.damaged("a sample is " + std::to_string(sample) + ", more than its largest value of " +
                          std::to_string(largest_) + here());
        return static_cast<T>((sample * full + largest_ / 2) / largest_); // at most 65535 * 65535 + 32767
    }

    template <class T> void read(T* to, const any_array& image) {
        const auto channels = static_cast<int>(image.extents()[2].size);
        if (sizeof(T) == 1 && is_raw() && largest_ == 255 && channels == header_.channels) {
            std::memcpy(to, rest_.data(), image.bytes());
            return;
        }
        for (std::int64_t y = 0; y < header_.height; ++y) {
            for (std::int64_t x = 0; x < header_.width; ++x, to += channels) {
                T pixel[3] = {};
                if (is_raw() && is_bitmap()) {
                    const auto bits = static_cast<unsigned char>(rest_[static_cast<std::size_t>(x / 8)]);
                    pixel[0] = (bits >> (7 - x % 8) & 1) != 0 ? T(0) : static_cast<T>(-1);
                } else
                    for (int c = 0; c < header_.channels; ++c) pixel[c] = scaled<T>(next());
                put_pixel(pixel, header_.channels, to, channels);
            }
            if (is_raw() && is_bitmap()) rest_.remove_prefix(static_cast<std::size_t>((header_.width + 7) / 8));
        }
    }

    const image_bytes& from_;
    std::string_view rest_;
    int kind_ = 0;
    std::uint32_t largest_ = 1;
    image_header header_;
};

TENON_INLINE image_header pnm_header(const image_bytes& from) { return pnm_parser(from).header(); }
TENON_INLINE any_array pnm_pixels(const image_bytes& from, const decode_image_options& o) {
    return pnm_parser(from).pixels(o);
}

} // namespace detail

TENON_INLINE std::string encode_pnm(const any_array& image) {
    detail::require_image(image, "encode_pnm", true, 3, false);
    const bool wide = image.element() == element_type::uint16;
    std::string file = image.extents()[2].size == 1 ? "P5\n" : "P6\n";
    file += std::to_string(image.extents()[1].size) + ' ' + std::to_string(image.extents()[0].size) +
            (wide ? "\n65535\n" : "\n255\n");
    if (!wide) return file.append(static_cast<const char*>(image.data()), image.bytes());
    const auto* samples = image.data<std::uint16_t>();
    for (std::int64_t i = 0; i < image.elements(); ++i)
        file += {static_cast<char>(samples[i] >> 8), static_cast<char>(samples[i] & 0xff)};
    return file;
}

} // namespace tenon
