#include <tenon/core/config.hpp>

#if TENON_WITH_JPEG
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio> // jpeglib.h needs it
#include <cstdlib>

#include <jpeglib.h>

#include "image_support.hpp"
#include "messages.hpp"

// JPEG images, against the library called by itself.

namespace tn = tenon;
using namespace images;
using namespace std::string_literals;
using tn::element_type;

namespace {

struct jpeg_file {
    J_COLOR_SPACE given = JCS_RGB, stored = JCS_YCbCr;
    bool progressive = false;
    bool adobe = true; // of inks
    int quality = 90;
};
std::string jpeg(const tn::any_array& image, const jpeg_file& f) {
    jpeg_compress_struct c{};
    jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    unsigned char* made = nullptr;
    unsigned long bytes = 0;
    jpeg_mem_dest(&c, &made, &bytes);
    c.image_height = static_cast<JDIMENSION>(image.extents()[0].size);
    c.image_width = static_cast<JDIMENSION>(image.extents()[1].size);
    c.input_components = static_cast<int>(image.extents()[2].size);
    c.in_color_space = f.given;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, f.stored);
    if (!f.adobe) c.write_Adobe_marker = FALSE;
    jpeg_set_quality(&c, f.quality, TRUE);
    if (f.progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    auto* row = const_cast<JSAMPROW>(image.data<std::uint8_t>());
    for (; c.next_scanline < c.image_height; row += c.image_width * static_cast<unsigned>(c.input_components))
        jpeg_write_scanlines(&c, &row, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    std::string file(reinterpret_cast<const char*>(made), bytes);
    std::free(made);
    return file;
}
// What the library gives, a row at a time.
tn::any_array decoded_by_library(const std::string& file, J_COLOR_SPACE as, int channels) {
    jpeg_decompress_struct d{};
    jpeg_error_mgr errors;
    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, reinterpret_cast<const unsigned char*>(file.data()), static_cast<unsigned long>(file.size()));
    jpeg_read_header(&d, TRUE);
    d.out_color_space = as;
    jpeg_start_decompress(&d);
    tn::any_array image(element_type::uint8, {static_cast<std::int64_t>(d.output_height),
                                              static_cast<std::int64_t>(d.output_width), channels});
    auto* row = image.data<std::uint8_t>();
    for (; d.output_scanline < d.output_height; row += d.output_width * static_cast<unsigned>(channels))
        jpeg_read_scanlines(&d, &row, 1);
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    return image;
}

// Something smooth, as photographs are.
tn::any_array smooth(std::int64_t height, std::int64_t width, int channels) {
    return tabulate<std::uint8_t>(height, width, channels, [](std::int64_t y, std::int64_t x, int c) {
        return 128 + 100 * std::sin(0.2 * static_cast<double>(x) + c) * std::cos(0.15 * static_cast<double>(y) - c);
    });
}

} // namespace

TEST_CASE("JPEG: gray and colours, baseline and progressive, are what the library gives") {
    for (const bool progressive : {false, true})
        for (const std::pair<int, int>& size :
             {std::pair{1, 1}, std::pair{17, 33}, std::pair{64, 48}, std::pair{37, 8}}) {
            const int height = size.first, width = size.second;
            CAPTURE(progressive);
            CAPTURE(height);
            const std::string colour = jpeg(smooth(height, width, 3), {.progressive = progressive});
            const std::string gray = jpeg(smooth(height, width, 1), {JCS_GRAYSCALE, JCS_GRAYSCALE, progressive});
            CHECK(tn::read_image_header(colour) == tn::image_header{tn::image_format::jpeg, height, width, 3, 8});
            CHECK(tn::read_image_header(gray) == tn::image_header{tn::image_format::jpeg, height, width, 1, 8});
            CHECK(tn::decode_image(colour) == decoded_by_library(colour, JCS_RGB, 3));
            CHECK(tn::decode_image(gray) == decoded_by_library(gray, JCS_GRAYSCALE, 1));
            CHECK(tn::decode_image(colour, {.channels = 1}) == decoded_by_library(colour, JCS_GRAYSCALE, 1));
            CHECK(tn::decode_image(gray, {.channels = 3}) == decoded_by_library(gray, JCS_RGB, 3));
        }
}

TEST_CASE("JPEG: alpha is added, and 16 bits are made of 8") {
    const std::string file = jpeg(smooth(9, 11, 3), {});
    const tn::any_array plain = decoded_by_library(file, JCS_RGB, 3);
    const auto at = [&](std::int64_t y, std::int64_t x, int c) {
        return c == 3 ? 255 : plain.data<std::uint8_t>()[(y * 11 + x) * 3 + c];
    };
    CHECK(tn::decode_image(file, {.channels = 4}) == tabulate<std::uint8_t>(9, 11, 4, at));
    CHECK(tn::decode_image(file, {.channels = 4, .element = element_type::uint16}) ==
          tabulate<std::uint16_t>(9, 11, 4, [&](auto... i) { return at(i...) * 257; }));
    CHECK(tn::decode_image(file, {.element = element_type::none}) == plain);
}

TEST_CASE("JPEG: CMYK and YCCK are given as red, green and blue") {
    const tn::any_array inks = smooth(16, 24, 4);
    for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK})
        for (const bool adobe : {true, false}) {
            if (!adobe && stored == JCS_YCCK) continue; // known by Adobe's marker only
            const std::string file = jpeg(inks, {.given = JCS_CMYK, .stored = stored, .adobe = adobe});
            const tn::any_array read = decoded_by_library(file, JCS_CMYK, 4);
            const auto rgb = [&](std::int64_t y, std::int64_t x, int c) -> double {
                const std::uint8_t* p = read.data<std::uint8_t>() + (y * 24 + x) * 4;
                return adobe ? p[c] * p[3] / 255.0 : (255 - p[c]) * (255 - p[3]) / 255.0;
            };
            const tn::any_array image = tn::decode_image(file);
            CHECK(farthest(image, tabulate<std::uint8_t>(16, 24, 3, rgb)) <= 1);
            CHECK(tn::decode_image(file, {.channels = 1}).extents() == tn::extents{16, 24, 1});
        }
}

TEST_CASE("what is written as JPEG is read again, nearly; a higher quality is nearer, and larger") {
    for (const int channels : {1, 3}) {
        const tn::any_array image = smooth(40, 56, channels);
        const std::string good = tn::encode_jpeg(image, {.quality = 95}),
                          poor = tn::encode_jpeg(image, {.quality = 20});
        CHECK(farthest(tn::decode_image(good), image) <= 20);
        CHECK(poor.size() < good.size());
        const std::string in_scans = tn::encode_jpeg(image, {.quality = 95, .progressive = true});
        CHECK(tn::decode_image(in_scans) == tn::decode_image(good)); // the same coefficients in another order
        CHECK(in_scans != good);
    }
    CHECK(tn::encode_jpeg(smooth(5, 5, 3), {.quality = 90}) == jpeg(smooth(5, 5, 3), {}));
    const auto said = [](const tn::any_array& image, int quality = 95) {
        return message_of<tn::invalid_argument_error>([&] { tn::encode_jpeg(image, {.quality = quality}); });
    };
    CHECK(contains(said(smooth(2, 2, 3), 101), "quality is 1 to 100, not 101"));
    CHECK(contains(said(smooth(2, 2, 4)), "channels must be 1 or 3"));
    CHECK(contains(said(tn::any_array::zeros(element_type::uint16, {2, 2, 1})), "elements must be uint8"));
    CHECK(contains(said(tn::any_array::zeros(element_type::uint8, {1, 65501, 1})), "more than 65500 pixels"));
}

TEST_CASE("JPEG: cut off anywhere it is a data_loss_error, though the library would make up the rest") {
    for (const bool progressive : {false, true}) {
        const std::string file = jpeg(smooth(24, 24, 3), {.progressive = progressive});
        for (std::size_t n = 3; n < file.size(); ++n) {
            CAPTURE(n);
            CHECK_THROWS_AS(tn::decode_image(file.substr(0, n)), tn::data_loss_error);
        }
        CHECK(message_of<tn::data_loss_error>([&] { tn::decode_image(file.substr(0, file.size() - 40)); }) ==
              "decode_image: the JPEG image is cut off: it goes on behind its " + std::to_string(file.size() - 40) +
                  " bytes");
        CHECK(tn::decode_image(file + "what follows") == tn::decode_image(file));
    }
}

TEST_CASE("JPEG: with any byte changed it is an image of its size, or an error, and the library prints nothing") {
    const std::string file = jpeg(smooth(16, 16, 3), {});
    std::mt19937_64 random(31);
    int images = 0, errors = 0;
    for (std::size_t i = 3; i < file.size(); ++i) {
        std::string changed = file;
        changed[i] = static_cast<char>(random());
        try {
            images += tn::decode_image(changed, {.largest_image = 1 << 16}).rank() == 3;
        } catch (const tn::error&) {
            ++errors;
        }
    }
    CHECK(images + errors == static_cast<int>(file.size()) - 3);
    CHECK(errors > 0);
}

TEST_CASE("JPEG: what lies about its size takes no memory, and unknown kinds are told apart from damage") {
    std::string file = jpeg(smooth(8, 8, 3), {});
    const std::size_t frame = file.find("\xff\xc0"s);
    REQUIRE(frame != std::string::npos);
    std::string large = file;
    for (std::size_t i = frame + 5; i < frame + 9; ++i) large[i] = '\x7f';
    CHECK_ERROR(tn::resource_exhausted_error, "32639 pixels wide and 32639 high", tn::decode_image(large));
    std::string lossless = file;
    lossless[frame + 1] = '\xc3';
    CHECK_ERROR(tn::unimplemented_error, "a kind that is not read", tn::decode_image(lossless));
}
#endif
