#pragma once

#include <tenon/io/image/jpeg.hpp>

#if TENON_WITH_JPEG
#include <algorithm>
#include <csetjmp>
#include <cstdio> // jpeglib.h needs it
#include <cstdlib>
#include <memory>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>
#endif

namespace tenon {

#if TENON_WITH_JPEG

namespace detail {

// Errors of libjpeg jump to the setjmp of the function that called it: such a function, and a callback, holds nothing that has
// a destructor, and changes no local variable after setjmp.
struct jpeg_failures : jpeg_error_mgr {
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX] = "";
    int code = 0;
};

[[noreturn]] inline void jpeg_failed(j_common_ptr library) {
    auto& f = static_cast<jpeg_failures&>(*library->err);
    f.code = f.msg_code;
    f.format_message(library, f.message);
    std::longjmp(f.jump, 1);
}
// Warnings are what the library would make up pixels for. Those that tell of lost data are errors here.
inline void jpeg_warned(j_common_ptr library, int level) {
    if (level >= 0) return; // a note
    switch (library->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: jpeg_failed(library);
    default: break;
    }
}
inline void jpeg_silent(j_common_ptr) {}
// Each scan of a progressive image goes over all of it, and takes few bytes.
inline void jpeg_progressed(j_common_ptr library) {
    if (reinterpret_cast<j_decompress_ptr>(library)->input_scan_number <= 500) return;
    auto& f = static_cast<jpeg_failures&>(*library->err);
    f.code = JERR_BAD_PROGRESSION;
    std::snprintf(f.message, sizeof f.message, "it has more than 500 scans");
    std::longjmp(f.jump, 1);
}

inline void take_jpeg_failures(jpeg_failures& f) {
    jpeg_std_error(&f);
    f.error_exit = jpeg_failed;
    f.emit_message = jpeg_warned;
    f.output_message = jpeg_silent;
}

struct jpeg_decoder {
    jpeg_decompress_struct library{};
    jpeg_failures failures;
    jpeg_progress_mgr progress{};
    int scan_channels = 0;        // of what the library gives
    std::uint8_t* rows = nullptr; // of the image, where it is what the library gives
    std::size_t row_bytes = 0;
    std::uint8_t* row = nullptr; // else a row of that
};

inline bool read_jpeg_header(jpeg_decoder& d, const unsigned char* bytes, unsigned long count) {
    if (setjmp(d.failures.jump) != 0) return false;
    jpeg_create_decompress(&d.library);
    d.progress.progress_monitor = jpeg_progressed;
    d.library.progress = &d.progress;
    jpeg_mem_src(&d.library, bytes, count);
    jpeg_read_header(&d.library, TRUE);
    return true;
}
inline bool start_jpeg(jpeg_decoder& d) {
    if (setjmp(d.failures.jump) != 0) return false;
    jpeg_start_decompress(&d.library);
    if (d.library.output_components != d.scan_channels) ERREXIT(&d.library, JERR_CONVERSION_NOTIMPL);
    return true;
}
inline bool read_jpeg_rows(jpeg_decoder& d) {
    if (setjmp(d.failures.jump) != 0) return false;
    while (d.library.output_scanline < d.library.output_height) {
        // Several at a time spare the library a copy where it makes two rows of one.
        JSAMPROW rows[8];
        const JDIMENSION n = std::min<JDIMENSION>(8, d.library.output_height - d.library.output_scanline);
        for (JDIMENSION i = 0; i < n; ++i)
            rows[i] = d.rows + (static_cast<std::size_t>(d.library.output_scanline) + i) * d.row_bytes;
        jpeg_read_scanlines(&d.library, rows, n);
    }
    jpeg_finish_decompress(&d.library);
    return true;
}
inline bool read_jpeg_row(jpeg_decoder& d) {
    if (setjmp(d.failures.jump) != 0) return false;
    jpeg_read_scanlines(&d.library, &d.row, 1);
    if (d.library.output_scanline == d.library.output_height) jpeg_finish_decompress(&d.library);
    return true;
}

class jpeg_reader {
public:
    explicit jpeg_reader(const image_bytes& from) : from_(from) {
        take_jpeg_failures(d_.failures);
        d_.library.err = &d_.failures;
        if (!read_jpeg_header(d_, reinterpret_cast<const unsigned char*>(from.bytes.data()),
                              static_cast<unsigned long>(from.bytes.size()))) {
            jpeg_destroy_decompress(&d_.library);
            fail();
        }
        header_ = {image_format::jpeg, d_.library.image_height, d_.library.image_width,
                   d_.library.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3, 8};
    }
    jpeg_reader(jpeg_reader&&) = delete;
    ~jpeg_reader() { jpeg_destroy_decompress(&d_.library); }

    const image_header& header() const { return header_; }

    any_array pixels(const decode_image_options& o) {
        from_.check_size(header_, o);
        any_array image = array_for(header_, o);
        const auto channels = static_cast<int>(image.extents()[2].size);
        const J_COLOR_SPACE stored = d_.library.jpeg_color_space;
        const bool inks = stored == JCS_CMYK || stored == JCS_YCCK;
        d_.library.out_color_space = inks ? JCS_CMYK : channels < 3 ? JCS_GRAYSCALE : JCS_RGB;
        d_.scan_channels = inks ? 4 : channels < 3 ? 1 : 3;
        if (!start_jpeg(d_)) fail();
        if (!inks && channels == d_.scan_channels && image.element() == element_type::uint8) {
            d_.rows = image.data<std::uint8_t>();
            d_.row_bytes = image.bytes() / static_cast<std::size_t>(header_.height);
            if (!read_jpeg_rows(d_)) fail();
        } else if (image.element() == element_type::uint8) convert(image.data<std::uint8_t>(), channels, inks);
        else convert(image.data<std::uint16_t>(), channels, inks);
        return image;
    }

private:
    // What the library does not write itself: alpha, 16 bits, and colours of inks.
    template <class T> void convert(T* to, int channels, bool inks) {
        std::vector<std::uint8_t> row(static_cast<std::size_t>(header_.width) *
                                      static_cast<std::size_t>(d_.scan_channels));
        d_.row = row.data();
        // Adobe's programs write how much of an ink is not there.
        const unsigned inverted = d_.library.saw_Adobe_marker ? 0 : 255;
        for (std::int64_t y = 0; y < header_.height; ++y) {
            if (!read_jpeg_row(d_)) fail();
            const std::uint8_t* from = row.data();
            for (std::int64_t x = 0; x < header_.width; ++x, from += d_.scan_channels, to += channels) {
                T pixel[3] = {};
                for (int c = 0; c < std::min(d_.scan_channels, 3); ++c) {
                    const unsigned value = inks ? ((from[c] ^ inverted) * (from[3] ^ inverted) + 127) / 255 : from[c];
                    pixel[c] = static_cast<T>(value * (sizeof(T) == 2 ? 257 : 1));
                }
                put_pixel(pixel, std::min(d_.scan_channels, 3), to, channels);
            }
        }
    }
    [[noreturn]] void fail() const {
        switch (d_.failures.code) {
        case JWRN_JPEG_EOF: from_.cut_off();
        case JERR_OUT_OF_MEMORY: throw resource_exhausted_error(from_.who + ": no memory for libjpeg");
        case JERR_SOF_UNSUPPORTED:
        case JERR_BAD_PRECISION:
        case JERR_ARITH_NOTIMPL:
        case JERR_NOT_COMPILED:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_CCIR601_NOTIMPL:
        case JERR_FRACT_SAMPLE_NOTIMPL: from_.unsupported(d_.failures.message);
        default: from_.damaged(d_.failures.message);
        }
    }

    const image_bytes& from_;
    image_header header_;
    jpeg_decoder d_;
};

struct jpeg_encoder {
    jpeg_compress_struct library{};
    jpeg_failures failures;
    unsigned char* file = nullptr; // malloc's
    unsigned long bytes = 0;
};

inline bool write_jpeg(jpeg_encoder& e, const std::uint8_t* rows, const image_header& h, const encode_jpeg_options& o) {
    if (setjmp(e.failures.jump) != 0) return false;
    jpeg_create_compress(&e.library);
    jpeg_mem_dest(&e.library, &e.file, &e.bytes);
    e.library.image_height = static_cast<JDIMENSION>(h.height);
    e.library.image_width = static_cast<JDIMENSION>(h.width);
    e.library.input_components = h.channels;
    e.library.in_color_space = h.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&e.library);
    jpeg_set_quality(&e.library, o.quality, TRUE);
    if (o.progressive) jpeg_simple_progression(&e.library);
    jpeg_start_compress(&e.library, TRUE);
    while (e.library.next_scanline < e.library.image_height) {
        auto* row = const_cast<JSAMPROW>( // which is only read
            rows + e.library.next_scanline * static_cast<std::size_t>(h.width) * static_cast<std::size_t>(h.channels));
        jpeg_write_scanlines(&e.library, &row, 1);
    }
    jpeg_finish_compress(&e.library);
    return true;
}

TENON_INLINE image_header jpeg_header(const image_bytes& from) { return jpeg_reader(from).header(); }
TENON_INLINE any_array jpeg_pixels(const image_bytes& from, const decode_image_options& o) {
    return jpeg_reader(from).pixels(o);
}
TENON_INLINE std::string jpeg_library() {
#if defined(LIBJPEG_TURBO_VERSION_NUMBER)
    constexpr int version = LIBJPEG_TURBO_VERSION_NUMBER;
    return "libjpeg-turbo " + std::to_string(version / 1000000) + '.' + std::to_string(version / 1000 % 1000) + '.' +
           std::to_string(version % 1000);
#else
    return "libjpeg " + std::to_string(JPEG_LIB_VERSION / 10);
#endif
}

} // namespace detail

TENON_INLINE std::string encode_jpeg(const any_array& image, const encode_jpeg_options& o) {
    detail::require_image(image, "encode_jpeg", false, 3, false);
    if (o.quality < 1 || o.quality > 100)
        throw invalid_argument_error("encode_jpeg: quality is 1 to 100, not " + std::to_string(o.quality));
    const image_header h{image_format::jpeg, image.extents()[0].size, image.extents()[1].size,
                         static_cast<int>(image.extents()[2].size), 8};
    if (h.height > JPEG_MAX_DIMENSION || h.width > JPEG_MAX_DIMENSION)
        throw invalid_argument_error("encode_jpeg: " + to_string(image.type()) +
                                     " is no image that it can hold: a side has more than " +
                                     std::to_string(JPEG_MAX_DIMENSION) + " pixels");
    detail::jpeg_encoder e;
    detail::take_jpeg_failures(e.failures);
    e.library.err = &e.failures;
    const bool done = detail::write_jpeg(e, image.data<std::uint8_t>(), h, o);
    jpeg_destroy_compress(&e.library);
    const std::unique_ptr<unsigned char, void (*)(void*)> file(e.file, std::free);
    if (!done && e.failures.code == JERR_OUT_OF_MEMORY)
        throw resource_exhausted_error("encode_jpeg: no memory for " + to_string(image.type()));
    if (!done) throw invalid_argument_error("encode_jpeg: " + to_string(image.type()) + ": " + e.failures.message);
    return std::string(reinterpret_cast<const char*>(file.get()), e.bytes);
}

#else

namespace detail {
TENON_INLINE image_header jpeg_header(const image_bytes& from) { lacks_image_library(image_format::jpeg, from.who); }
TENON_INLINE any_array jpeg_pixels(const image_bytes& from, const decode_image_options&) {
    lacks_image_library(image_format::jpeg, from.who);
}
TENON_INLINE std::string jpeg_library() { return "not found: JPEG images cannot be read"; }
} // namespace detail

TENON_INLINE std::string encode_jpeg(const any_array&, const encode_jpeg_options&) {
    detail::lacks_image_library(image_format::jpeg, "encode_jpeg");
}

#endif

} // namespace tenon
