#include <tenon/core/config.hpp>

#if TENON_WITH_PNG && TENON_WITH_ZLIB
#include <doctest/doctest.h>

#include <zlib.h>

#include "image_support.hpp"
#include "messages.hpp"

// PNG images, against files that are put together here: chunks, filters and passes by the book (ISO/IEC 15948), packed by
// zlib. libpng has no part in making them.

namespace tn = tenon;
using namespace images;
using namespace std::string_literals;
using tn::element_type;

namespace {

std::string big_endian(std::uint32_t n) {
    std::string s;
    for (int shift = 24; shift >= 0; shift -= 8) s += static_cast<char>(n >> shift);
    return s;
}
std::string chunk(const std::string& type, const std::string& data) {
    const std::string body = type + data;
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
    return big_endian(static_cast<std::uint32_t>(data.size())) + body + big_endian(static_cast<std::uint32_t>(crc));
}
std::string packed(const std::string& bytes) {
    uLongf size = compressBound(static_cast<uLong>(bytes.size()));
    std::string out(size, '\0');
    REQUIRE(compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                     static_cast<uLong>(bytes.size())) == Z_OK);
    return out.substr(0, size);
}

// The rows of a picture, each behind its filter, drawn at random.
std::string filtered(const picture& p, std::mt19937_64& random) {
    const std::size_t bits = static_cast<std::size_t>(p.bits * p.channels), pixel = std::max<std::size_t>(1, bits / 8);
    const std::size_t row_bytes = (static_cast<std::size_t>(p.width) * bits + 7) / 8;
    std::string out;
    std::vector<int> above(row_bytes, 0);
    for (std::int64_t y = 0; y < p.height; ++y) {
        std::vector<int> row(row_bytes, 0);
        std::size_t bit = 0;
        for (std::int64_t x = 0; x < p.width; ++x)
            for (int c = 0; c < p.channels; ++c)
                for (int b = p.bits - 1; b >= 0; --b, ++bit)
                    row[bit / 8] |= static_cast<int>((p.at(y, x, c) >> b & 1) << (7 - bit % 8));
        const auto filter = static_cast<int>(random() % 5);
        out += static_cast<char>(filter);
        for (std::size_t i = 0; i < row_bytes; ++i) {
            const int a = i < pixel ? 0 : row[i - pixel], b = above[i], c = i < pixel ? 0 : above[i - pixel];
            const int pa = std::abs(b - c), pb = std::abs(a - c), pc = std::abs(a + b - 2 * c);
            const int guess[] = {0, a, b, (a + b) / 2, pa <= pb && pa <= pc ? a : pb <= pc ? b : c};
            out += static_cast<char>(row[i] - guess[filter]);
        }
        above = row;
    }
    return out;
}

struct png_file {
    int colour = 0; // 0 gray, 2 colours, 3 palette, 4 gray and alpha, 6 colours and alpha
    bool interlaced = false;
    std::string before_data = {}; // chunks
};
std::string png(const picture& p, const png_file& f, std::mt19937_64& random) {
    std::string data;
    if (!f.interlaced) data = filtered(p, random);
    else { // Adam7
        constexpr int from_x[] = {0, 4, 0, 2, 0, 1, 0}, from_y[] = {0, 0, 4, 0, 2, 0, 1};
        constexpr int step_x[] = {8, 8, 4, 4, 2, 2, 1}, step_y[] = {8, 8, 8, 4, 4, 2, 2};
        for (int pass = 0; pass < 7; ++pass) {
            picture part{0, 0, p.channels, p.bits, {}};
            for (std::int64_t y = from_y[pass]; y < p.height; y += step_y[pass], ++part.height) {
                part.width = 0;
                for (std::int64_t x = from_x[pass]; x < p.width; x += step_x[pass], ++part.width)
                    for (int c = 0; c < p.channels; ++c) part.samples.push_back(p.at(y, x, c));
            }
            if (!part.samples.empty()) data += filtered(part, random);
        }
    }
    const std::string header = big_endian(static_cast<std::uint32_t>(p.width)) +
                               big_endian(static_cast<std::uint32_t>(p.height)) + static_cast<char>(p.bits) +
                               static_cast<char>(f.colour) + "\0\0"s + static_cast<char>(f.interlaced);
    const std::string stream = packed(data);
    const std::size_t half = stream.size() / 2; // data may be cut into chunks anywhere
    return "\x89PNG\r\n\x1a\n"s + chunk("IHDR", header) + f.before_data + chunk("IDAT", stream.substr(0, half)) +
           chunk("IDAT", stream.substr(half)) + chunk("IEND", "");
}

constexpr std::uint32_t full(int bits) { return (1U << bits) - 1; }

} // namespace

TEST_CASE("PNG: every kind of pixels, interlaced or not, as stored, to 8 and to 16 bits") {
    struct kind {
        int colour, channels;
        std::vector<int> bits;
    };
    const kind kinds[] = {{0, 1, {1, 2, 4, 8, 16}}, {2, 3, {8, 16}}, {4, 2, {8, 16}}, {6, 4, {8, 16}}};
    std::mt19937_64 random(20261);
    for (const kind& k : kinds)
        for (const int bits : k.bits)
            for (const bool interlaced : {false, true}) {
                const picture p = random_picture(random, 1 + static_cast<std::int64_t>(random() % 20),
                                                 1 + static_cast<std::int64_t>(random() % 20), k.channels, bits);
                CAPTURE(k.colour);
                CAPTURE(bits);
                CAPTURE(interlaced);
                CAPTURE(p.height);
                CAPTURE(p.width);
                const std::string file = png(p, {k.colour, interlaced}, random);
                CHECK(tn::read_image_header(file) ==
                      tn::image_header{tn::image_format::png, p.height, p.width, k.channels, bits});
                const auto to = [&](std::uint32_t largest) {
                    return [&p, largest, bits](std::int64_t y, std::int64_t x, int c) {
                        return (std::uint64_t{p.at(y, x, c)} * largest * 2 + full(bits)) / (2 * full(bits));
                    };
                };
                CHECK(tn::decode_image(file) == tabulate<std::uint8_t>(p.height, p.width, k.channels, to(255)));
                CHECK(tn::decode_image(file, {.element = element_type::uint16}) ==
                      tabulate<std::uint16_t>(p.height, p.width, k.channels, to(65535)));
                CHECK(tn::decode_image(file, {.element = element_type::none}).element() ==
                      (bits == 16 ? element_type::uint16 : element_type::uint8));
            }
}

TEST_CASE("PNG: channels are made as many as are asked for") {
    std::mt19937_64 random(5);
    for (const int bits : {8, 16})
        for (const int colour : {0, 2, 4, 6}) {
            const int channels = 1 + (colour & 2) + (colour & 4) / 4;
            const picture p = random_picture(random, 6, 5, channels, bits);
            const std::string file = png(p, {colour, false}, random);
            const bool has_alpha = channels % 2 == 0, has_colours = channels > 2;
            for (int wanted = 1; wanted <= 4; ++wanted) {
                CAPTURE(bits);
                CAPTURE(colour);
                CAPTURE(wanted);
                const auto expected = [&](std::int64_t y, std::int64_t x, int c) -> double {
                    if (wanted % 2 == 0 && c == wanted - 1) return has_alpha ? p.at(y, x, channels - 1) : full(bits);
                    if (wanted > 2) return p.at(y, x, has_colours ? c : 0);
                    if (!has_colours) return p.at(y, x, 0);
                    return 0.299 * p.at(y, x, 0) + 0.587 * p.at(y, x, 1) + 0.114 * p.at(y, x, 2);
                };
                const auto e = bits == 8 ? element_type::uint8 : element_type::uint16;
                const tn::any_array image = tn::decode_image(file, {.channels = wanted, .element = e});
                const tn::any_array right = bits == 8 ? tabulate<std::uint8_t>(6, 5, wanted, expected)
                                                      : tabulate<std::uint16_t>(6, 5, wanted, expected);
                CHECK(farthest(image, right) <= (has_colours && wanted < 3 ? bits == 8 ? 1 : 4 : 0));
            }
        }
}

TEST_CASE("PNG: palettes of 1 to 8 bits, with and without transparent colours; a transparent gray") {
    std::mt19937_64 random(11);
    for (const int bits : {1, 2, 4, 8})
        for (const bool interlaced : {false, true}) {
            std::string palette, alpha;
            for (std::uint32_t i = 0; i <= full(bits); ++i) {
                for (int c = 0; c < 3; ++c) palette += static_cast<char>(random());
                if (i <= full(bits) / 2) alpha += static_cast<char>(random());
            }
            const picture p = random_picture(random, 9, 13, 1, bits);
            const auto colours = [&](std::int64_t y, std::int64_t x, int c) {
                const std::size_t i = p.at(y, x, 0);
                if (c == 3) return i < alpha.size() ? static_cast<unsigned char>(alpha[i]) : 255;
                return static_cast<int>(static_cast<unsigned char>(palette[3 * i + static_cast<std::size_t>(c)]));
            };
            const std::string plain = png(p, {3, interlaced, chunk("PLTE", palette)}, random);
            const std::string seen = png(p, {3, interlaced, chunk("PLTE", palette) + chunk("tRNS", alpha)}, random);
            CHECK(tn::decode_image(plain) == tabulate<std::uint8_t>(9, 13, 3, colours));
            CHECK(tn::decode_image(seen) == tabulate<std::uint8_t>(9, 13, 4, colours));
            CHECK(tn::decode_image(seen, {.channels = 3}) == tabulate<std::uint8_t>(9, 13, 3, colours));
            CHECK(tn::read_image_header(seen) == tn::image_header{tn::image_format::png, 9, 13, 4, 8});
        }
    const picture p = random_picture(random, 4, 4, 1, 2);
    const std::string file = png(p, {0, false, chunk("tRNS", "\0\2"s)}, random);
    CHECK(tn::decode_image(file) == tabulate<std::uint8_t>(4, 4, 2, [&](std::int64_t y, std::int64_t x, int c) {
              return c == 0 ? p.at(y, x, 0) * 85 : p.at(y, x, 0) == 2 ? 0 : 255;
          }));
}

TEST_CASE("PNG: gamma, text and profiles change nothing") {
    std::mt19937_64 random(3);
    const picture p = random_picture(random, 3, 3, 3, 8);
    const std::string extras = chunk("gAMA", big_endian(45455)) + chunk("tEXt", "Comment\0hello"s) +
                               chunk("iCCP", "x\0\0"s + packed("no profile at all"));
    CHECK(tn::decode_image(png(p, {2, false, extras}, random)) ==
          tabulate<std::uint8_t>(3, 3, 3, [&](std::int64_t y, std::int64_t x, int c) { return p.at(y, x, c); }));
}

TEST_CASE("what is written as PNG is read again") {
    std::mt19937_64 random(17);
    const auto any = [&](auto...) { return random(); };
    for (int channels = 1; channels <= 4; ++channels)
        for (const int compression : {-1, 0, 9}) {
            const tn::any_array narrow = tabulate<std::uint8_t>(5, 7, channels, any);
            const tn::any_array wide = tabulate<std::uint16_t>(5, 7, channels, any);
            CHECK(tn::decode_image(tn::encode_png(narrow, {compression})) == narrow);
            CHECK(tn::decode_image(tn::encode_png(wide, {compression}), {.element = element_type::uint16}) == wide);
        }
    const auto said = [](const tn::any_array& image, int compression = -1) {
        return message_of<tn::invalid_argument_error>([&] { tn::encode_png(image, {compression}); });
    };
    const tn::any_array image = tn::any_array::zeros(element_type::uint8, {2, 2, 1});
    CHECK(contains(said(image, 10), "compression is 0 to 9"));
    CHECK(contains(said(tn::any_array::zeros(element_type::float32, {2, 2, 1})), "elements must be uint8 or uint16"));
    CHECK(contains(said(tn::any_array::zeros(element_type::uint8, {2, 2, 5})), "channels must be 1 to 4"));
    CHECK(contains(said(tn::any_array::zeros(element_type::uint8, {2, 2})), "must be [height, width, channels]"));
}

TEST_CASE("PNG: cut off anywhere, or with any byte changed, it is an error or the image, and nothing else") {
    std::mt19937_64 random(23);
    const picture p = random_picture(random, 8, 8, 3, 8);
    for (const bool interlaced : {false, true}) {
        const std::string file = png(p, {2, interlaced}, random);
        const tn::any_array whole = tn::decode_image(file);
        for (std::size_t n = 4; n < file.size(); ++n)
            CHECK_ERROR(tn::data_loss_error, "cut off", tn::decode_image(file.substr(0, n)));
        // each chunk has its CRC, so what is changed is found; but for the letter case of a type, no byte is free
        for (std::size_t i = 8; i < file.size(); ++i) {
            std::string changed = file;
            changed[i] ^= 4;
            CHECK_THROWS_AS(tn::decode_image(changed), tn::data_loss_error);
        }
    }
}

TEST_CASE("PNG: what lies about its size takes no memory") {
    std::mt19937_64 random(29);
    std::string file = png(random_picture(random, 2, 2, 1, 8), {0, false}, random);
    const auto lie = [&](std::uint32_t width, std::uint32_t height) {
        return file.substr(0, 8) + chunk("IHDR", big_endian(width) + big_endian(height) + "\x08\0\0\0\0"s) +
               file.substr(33);
    };
    REQUIRE(lie(2, 2) == file);
    CHECK_ERROR(tn::resource_exhausted_error, "2147483647 pixels wide and 2147483647 high",
                tn::decode_image(lie(0x7fffffff, 0x7fffffff)));
    CHECK_THROWS_AS(tn::decode_image(lie(100000, 100000)), tn::resource_exhausted_error);
    // no file of so few bytes has so many pixels
    CHECK_ERROR(tn::data_loss_error, "cut off",
                tn::decode_image(lie(0x7fffffff, 0x7fffffff), {.largest_image = std::int64_t{1} << 62}));
    CHECK_THROWS_AS(tn::decode_image(lie(3, 2)), tn::data_loss_error);
    CHECK_THROWS_AS(tn::decode_image(lie(0, 2)), tn::data_loss_error);
}
#endif
