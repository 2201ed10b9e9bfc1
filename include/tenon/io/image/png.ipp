#pragma once

#include <tenon/io/image/png.hpp>

#if TENON_WITH_PNG
#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>
#endif

namespace tenon {

#if TENON_WITH_PNG

namespace detail {

// What libpng's callbacks see. Errors of libpng jump to the setjmp of the function that called it: such a function, and a
// callback, holds nothing that has a destructor, and changes no local variable after setjmp.
struct png_state {
    png_structp png = nullptr;
    png_infop info = nullptr;
    std::string_view rest;          // to read
    std::string* written = nullptr; // to write to
    char message[160] = "";
    bool cut_off = false, no_memory = false;
    image_header header;
    int channels = 0;
    bool wide = false;
    std::byte* rows = nullptr; // of the image
    std::size_t row_bytes = 0;
};

[[noreturn]] inline void png_failed(png_structp png, png_const_charp message) {
    auto& s = *static_cast<png_state*>(png_get_error_ptr(png));
    std::snprintf(s.message, sizeof s.message, "%s", message);
    png_longjmp(png, 1);
}
inline void png_warned(png_structp, png_const_charp) {}

inline void png_take(png_structp png, png_bytep to, std::size_t bytes) {
    auto& s = *static_cast<png_state*>(png_get_io_ptr(png));
    s.cut_off = bytes > s.rest.size();
    if (s.cut_off) png_error(png, "cut off");
    std::memcpy(to, s.rest.data(), bytes);
    s.rest.remove_prefix(bytes);
}
inline bool append_bytes(std::string& to, const void* from, std::size_t bytes) noexcept {
    try {
        to.append(static_cast<const char*>(from), bytes);
        return true;
    } catch (...) {
        return false;
    }
}
inline void png_give(png_structp png, png_bytep from, std::size_t bytes) {
    auto& s = *static_cast<png_state*>(png_get_io_ptr(png));
    s.no_memory = !append_bytes(*s.written, from, bytes);
    if (s.no_memory) png_error(png, "no memory");
}
inline void png_flush_nothing(png_structp) {}

inline bool read_png_header(png_state& s) {
    if (setjmp(png_jmpbuf(s.png)) != 0) return false;
    png_set_read_fn(s.png, &s, png_take);
    png_set_user_limits(s.png, 0x7fffffff, 0x7fffffff); // how large an image may be is looked at in between
    png_set_keep_unknown_chunks(s.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1); // text, colour profiles, ...
    png_read_info(s.png, s.info);
    const int colour = png_get_color_type(s.png, s.info);
    s.header.format = image_format::png;
    s.header.width = png_get_image_width(s.png, s.info);
    s.header.height = png_get_image_height(s.png, s.info);
    s.header.channels = ((colour & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) +
                        ((colour & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(s.png, s.info, PNG_INFO_tRNS) != 0);
    s.header.bits = colour == PNG_COLOR_TYPE_PALETTE ? 8 : png_get_bit_depth(s.png, s.info);
    return true;
}

inline bool read_png_pixels(png_state& s) {
    if (setjmp(png_jmpbuf(s.png)) != 0) return false;
    const int colour = png_get_color_type(s.png, s.info);
    const bool coloured = (colour & PNG_COLOR_MASK_COLOR) != 0, alpha = s.channels % 2 == 0;
    png_set_expand(s.png); // palettes, fewer than 8 bits, and the colour that stands for transparency
    if (s.wide) png_set_expand_16(s.png);
    else png_set_scale_16(s.png);
    if (!alpha) png_set_strip_alpha(s.png);
    else if (s.header.channels % 2 != 0) png_set_add_alpha(s.png, s.wide ? 0xffff : 0xff, PNG_FILLER_AFTER);
    if (coloured && s.channels < 3) png_set_rgb_to_gray(s.png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (!coloured && s.channels >= 3) png_set_gray_to_rgb(s.png);
    if (s.wide && std::endian::native == std::endian::little) png_set_swap(s.png);
    const int passes = png_set_interlace_handling(s.png);
    png_read_update_info(s.png, s.info);
    if (png_get_rowbytes(s.png, s.info) != s.row_bytes)
        png_error(s.png, "its rows are of another size than its header says");
    for (int pass = 0; pass < passes; ++pass)
        for (std::int64_t y = 0; y < s.header.height; ++y)
            png_read_row(s.png, reinterpret_cast<png_bytep>(s.rows + static_cast<std::size_t>(y) * s.row_bytes),
                         nullptr);
    png_read_end(s.png, nullptr);
    return true;
}

inline bool write_png(png_state& s, int compression) {
    if (setjmp(png_jmpbuf(s.png)) != 0) return false;
    constexpr int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                               PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_write_fn(s.png, &s, png_give, png_flush_nothing);
    png_set_user_limits(s.png, 0x7fffffff, 0x7fffffff);
    if (compression >= 0) png_set_compression_level(s.png, compression);
    png_set_IHDR(s.png, s.info, static_cast<png_uint_32>(s.header.width), static_cast<png_uint_32>(s.header.height),
                 s.wide ? 16 : 8, colours[s.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(s.png, s.info);
    if (s.wide && std::endian::native == std::endian::little) png_set_swap(s.png);
    for (std::int64_t y = 0; y < s.header.height; ++y)
        png_write_row(s.png, reinterpret_cast<png_const_bytep>(s.rows + static_cast<std::size_t>(y) * s.row_bytes));
    png_write_end(s.png, nullptr);
    return true;
}

class png_reader {
public:
    explicit png_reader(const image_bytes& from) : from_(from) {
        s_.rest = from.bytes;
        s_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s_, png_failed, png_warned);
        s_.info = s_.png ? png_create_info_struct(s_.png) : nullptr;
        const bool there = s_.info != nullptr;
        if (there && read_png_header(s_)) return;
        png_destroy_read_struct(&s_.png, &s_.info, nullptr);
        if (!there) throw resource_exhausted_error(from.who + ": no memory for libpng");
        fail();
    }
    png_reader(png_reader&&) = delete;
    ~png_reader() { png_destroy_read_struct(&s_.png, &s_.info, nullptr); }

    const image_header& header() const { return s_.header; }
    any_array pixels(const decode_image_options& o) {
        from_.check_size(s_.header, o);
        // Deflate never packs better than 1 : 1032 (zlib's technical notes); a pixel has 1 bit or more.
        if (s_.header.height * ((s_.header.width + 7) / 8) / 1032 > static_cast<std::int64_t>(from_.bytes.size()))
            from_.cut_off();
        any_array image = array_for(s_.header, o);
        s_.channels = static_cast<int>(image.extents()[2].size);
        s_.wide = image.element() == element_type::uint16;
        s_.rows = static_cast<std::byte*>(image.data());
        s_.row_bytes = image.bytes() / static_cast<std::size_t>(s_.header.height);
        if (!read_png_pixels(s_)) fail();
        return image;
    }

private:
    [[noreturn]] void fail() const {
        if (s_.cut_off) from_.cut_off();
        from_.damaged(s_.message);
    }

    const image_bytes& from_;
    png_state s_;
};

TENON_INLINE image_header png_header(const image_bytes& from) { return png_reader(from).header(); }
TENON_INLINE any_array png_pixels(const image_bytes& from, const decode_image_options& o) {
    return png_reader(from).pixels(o);
}
TENON_INLINE std::string png_library() { return png_get_libpng_ver(nullptr); }

} // namespace detail

TENON_INLINE std::string encode_png(const any_array& image, const encode_png_options& o) {
    detail::require_image(image, "encode_png", true, 4, true);
    if (o.compression < -1 || o.compression > 9)
        throw invalid_argument_error("encode_png: compression is 0 to 9, or -1 for zlib's own choice, not " +
                                     std::to_string(o.compression));
    std::string file;
    detail::png_state s;
    s.written = &file;
    s.header.height = image.extents()[0].size;
    s.header.width = image.extents()[1].size;
    s.channels = static_cast<int>(image.extents()[2].size);
    s.wide = image.element() == element_type::uint16;
    s.rows = static_cast<std::byte*>(const_cast<void*>(image.data())); // which are only read
    s.row_bytes = image.bytes() / static_cast<std::size_t>(s.header.height);
    s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, detail::png_failed, detail::png_warned);
    s.info = s.png ? png_create_info_struct(s.png) : nullptr;
    s.no_memory = s.info == nullptr;
    const bool done = s.info && detail::write_png(s, o.compression);
    png_destroy_write_struct(&s.png, &s.info);
    if (s.no_memory) throw resource_exhausted_error("encode_png: no memory for " + to_string(image.type()));
    if (!done) throw invalid_argument_error("encode_png: " + to_string(image.type()) + ": " + s.message);
    return file;
}

#else

namespace detail {
TENON_INLINE image_header png_header(const image_bytes& from) { lacks_image_library(image_format::png, from.who); }
TENON_INLINE any_array png_pixels(const image_bytes& from, const decode_image_options&) {
    lacks_image_library(image_format::png, from.who);
}
TENON_INLINE std::string png_library() { return "not found: PNG images cannot be read"; }
} // namespace detail

TENON_INLINE std::string encode_png(const any_array&, const encode_png_options&) {
    detail::lacks_image_library(image_format::png, "encode_png");
}

#endif

} // namespace tenon
