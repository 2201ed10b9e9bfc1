#include "tests.hpp"
#include "image_support.hpp"

// PNM images, and what all formats have in common.

using namespace images;
using namespace std::string_literals;
using tn::element_type;

namespace {

template <class T> tn::any_array of(const tn::extents& sizes, const std::vector<T>& values) {
    tn::any_array a(tn::element_type_of<T>, sizes);
    std::copy(values.begin(), values.end(), a.data<T>());
    return a;
}
using bytes = std::vector<std::uint8_t>;
using words = std::vector<std::uint16_t>;

} // namespace

TEST_CASE("PNM as text and as bytes: bitmaps, gray and colours, with comments") {
    CHECK(tn::decode_image("P1\n# a comment\n3 2\n1 0 1\n010") ==
          of<std::uint8_t>({2, 3, 1}, {0, 255, 0, 255, 0, 255}));
    CHECK(tn::decode_image("P4 3 2\n\xa0\x40"s) == of<std::uint8_t>({2, 3, 1}, {0, 255, 0, 255, 0, 255}));
    CHECK(tn::decode_image("P2 2 1 255 7\t250") == of<std::uint8_t>({1, 2, 1}, {7, 250}));
    CHECK(tn::decode_image("P5#x\n2 1#y\n255\n\x07\xfa"s) == of<std::uint8_t>({1, 2, 1}, {7, 250}));
    CHECK(tn::decode_image("P3 1 2 255 1 2 3 4 5 6") == of<std::uint8_t>({2, 1, 3}, {1, 2, 3, 4, 5, 6}));
    CHECK(tn::decode_image("P6\n1 2\n255\n\1\2\3\4\5\6 and more"s) == of<std::uint8_t>({2, 1, 3}, {1, 2, 3, 4, 5, 6}));
}

TEST_CASE("PNM values are scaled from the file's largest to the element's, rounded") {
    CHECK(tn::decode_image("P2 4 1 3 0 1 2 3") == of<std::uint8_t>({1, 4, 1}, {0, 85, 170, 255}));
    CHECK(tn::decode_image("P2 3 1 2 0 1 2") == of<std::uint8_t>({1, 3, 1}, {0, 128, 255}));
    CHECK(tn::decode_image("P5 2 1 65535\n\x12\x34\xff\xff"s, {.element = element_type::none}) ==
          of<std::uint16_t>({1, 2, 1}, {0x1234, 0xffff}));
    CHECK(tn::decode_image("P5 2 1 65535\n\x12\x34\xff\xff"s) == of<std::uint8_t>({1, 2, 1}, {0x12, 0xff}));
    CHECK(tn::decode_image("P5 2 1 255\n\x12\xff"s, {.element = element_type::uint16}) ==
          of<std::uint16_t>({1, 2, 1}, {0x1212, 0xffff}));
}

TEST_CASE("channels are made as many as are asked for") {
    const std::string colour = "P3 1 1 255 200 100 50", gray = "P2 1 1 255 9";
    CHECK(tn::decode_image(colour, {.channels = 1}) == of<std::uint8_t>({1, 1, 1}, {124})); // 59.8 + 58.7 + 5.7
    CHECK(tn::decode_image(colour, {.channels = 2}) == of<std::uint8_t>({1, 1, 2}, {124, 255}));
    CHECK(tn::decode_image(colour, {.channels = 4}) == of<std::uint8_t>({1, 1, 4}, {200, 100, 50, 255}));
    CHECK(tn::decode_image(gray, {.channels = 3}) == of<std::uint8_t>({1, 1, 3}, {9, 9, 9}));
    CHECK(tn::decode_image(gray, {.channels = 4, .element = element_type::uint16}) ==
          of<std::uint16_t>({1, 1, 4}, {9 * 257, 9 * 257, 9 * 257, 65535}));
    CHECK_ERROR(tn::invalid_argument_error, "channels are 1 to 4, or 0 for those of the file, not 5",
                tn::decode_image(gray, {.channels = 5}));
    CHECK_ERROR(tn::invalid_argument_error, "uint8 or uint16, not to float",
                tn::decode_image(gray, {.element = element_type::float32}));
}

TEST_CASE("what is written as PNM is read again") {
    std::mt19937_64 random(7);
    for (const int channels : {1, 3}) {
        const auto any = [&](auto...) { return random(); };
        const tn::any_array narrow = tabulate<std::uint8_t>(5, 7, channels, any);
        const tn::any_array wide = tabulate<std::uint16_t>(5, 7, channels, any);
        CHECK(tn::decode_image(tn::encode_pnm(narrow)) == narrow);
        CHECK(tn::decode_image(tn::encode_pnm(wide), {.element = element_type::uint16}) == wide);
        CHECK(tn::read_image_header(tn::encode_pnm(wide)) ==
              tn::image_header{tn::image_format::pnm, 5, 7, channels, 16});
    }
    CHECK_ERROR(tn::invalid_argument_error, "channels must be 1 or 3",
                tn::encode_pnm(tn::any_array::zeros(element_type::uint8, {2, 2, 4})));
    CHECK_ERROR(tn::invalid_argument_error, "it has no pixels",
                tn::encode_pnm(tn::any_array::zeros(element_type::uint8, {2, 0, 1})));
}

TEST_CASE("a PNM file that is cut off or damaged is a data_loss_error that says where") {
    const auto said = [](const std::string& file) {
        return message_of<tn::data_loss_error>([&] { tn::decode_image(file); });
    };
    const std::string whole = "P6\n2 2\n255\n" + std::string(12, 'x');
    REQUIRE(tn::decode_image(whole).elements() == 12);
    for (std::size_t n = 3; n < whole.size(); ++n)
        CHECK(said(whole.substr(0, n)) ==
              "decode_image: the PNM image is cut off: it goes on behind its " + std::to_string(n) + " bytes");
    CHECK(contains(said("P2 2 1 255 1"), "cut off"));
    CHECK(contains(said("P2 2 1 255 1 x"), "where its next sample should be is no number (byte 13)"));
    CHECK(contains(said("P1 2 1 12"), "neither 0 nor 1 (byte 8)"));
    CHECK(contains(said("P2 2 1 9 1 10"), "a sample is 10, more than its largest value of 9 (byte 13)"));
    CHECK(contains(said("P2 0 1 9 1"), "its width is 0"));
    CHECK(contains(said("P2 1 1 65536 1"), "largest value is 65536, and must be 1 to 65535"));
    CHECK(contains(said("P5 1 1 255x"), "no space before its samples (byte 10)"));
    CHECK(contains(said("P5 99999999999 1 255 "), "its width is more than 2^31 - 1"));
}

TEST_CASE("a header that lies takes no memory: the limit on pixels comes first, then what is there") {
    CHECK_ERROR(tn::resource_exhausted_error,
                "the PNM image is 2000000000 pixels wide and 2000000000 high, 4000000000000000000 pixels in all, more "
                "than the limit of 67108864 (largest_image)",
                tn::decode_image("P6 2000000000 2000000000 255\n"));
    CHECK_THROWS_AS(tn::decode_image("P6 2000000000 2000000000 255\nxxx", {.largest_image = std::int64_t{1} << 62}),
                    tn::data_loss_error);
    CHECK_THROWS_AS(tn::decode_image("P5 3 1 255\nxxx", {.largest_image = 2}), tn::resource_exhausted_error);
    CHECK(tn::decode_image("P5 3 1 255\nxxx", {.largest_image = 3}).elements() == 3);
}

TEST_CASE("a size that is asked for is looked at") {
    const std::string file = "P5 3 1 255\nxxx";
    CHECK(tn::decode_image(file, {.height = 1, .width = 3}).elements() == 3);
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::decode_image(file, {.width = 4}); }) ==
          "decode_image: the PNM image is 3 pixels wide and 1 high, but 4 by any number of pixels are asked for");
}

TEST_CASE("what is no image is an error that shows its first bytes") {
    const auto said = [](const std::string& file, tn::image_format f = tn::image_format::automatic) {
        return message_of<tn::invalid_argument_error>([&] { tn::decode_image(file, {.format = f}); });
    };
    CHECK(said("GIF89a\1\0"s) ==
          "decode_image: this is no PNG, JPEG or PNM image: it begins with 47 49 46 38 39 61 01 00 "
          "(\"GIF89a..\")");
    CHECK(said("") == "decode_image: this is no PNG, JPEG or PNM image: there are no bytes");
    CHECK(said("P7 1", tn::image_format::png) ==
          "decode_image: this is no PNG image: it begins with 50 37 20 31 (\"P7 1\")");
    CHECK(said("P5 1 1 255 x", tn::image_format::jpeg) ==
          "decode_image: this is a PNM image, not a JPEG one: it begins with 50 35 20 31 20 31 20 32 (\"P5 1 1 2\")");
}

TEST_CASE("without a library its formats are refused with what to install") {
    const std::string png = "\x89PNG\r\n\x1a\n", jpeg = "\xff\xd8\xff\xe0";
    if (!tn::has_image_format(tn::image_format::png))
        CHECK_ERROR(tn::unimplemented_error, "Debian: libpng-dev", tn::decode_image(png));
    else CHECK_THROWS_AS(tn::decode_image(png), tn::data_loss_error);
    if (!tn::has_image_format(tn::image_format::jpeg))
        CHECK_ERROR(tn::unimplemented_error, "Debian: libjpeg-dev", tn::decode_image(jpeg));
    else CHECK_THROWS_AS(tn::decode_image(jpeg), tn::data_loss_error);
}
