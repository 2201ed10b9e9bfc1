#include <tenon/input.hpp>

#include "tests.hpp"
#include "ops/untyped_run.hpp"

// Images in steps. What files hold, and how damaged ones are refused, is in io/image/png.cpp, io/image/jpeg.cpp, io/image/pnm.cpp.

using tn::element_type;

namespace {

inline constexpr struct height : tn::dim<"height"> {} height;

tn::any_array pixels(element_type e, const tn::extents& sizes) {
    tn::any_array a(e, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        if (e == element_type::uint8) a.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(5 * i);
        else a.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(501 * i);
    return a;
}
tn::any_array text(const std::string& t) { return tn::test::array_of<std::string>({}, {t}); }

struct graph_of_a_file {
    own_graph made;
    tn::tensor<std::string, tn::shape<>> file = tn::placeholder<std::string, tn::shape<>>("file");

    tn::any_array run(const tn::any_tensor& fetched, const std::string& bytes) const {
        tn::session s;
        return std::move(s.run_untyped(tn::test::fed(file, text(bytes)), {fetched})[0]);
    }
    template <class Error> std::string said(const tn::any_tensor& fetched, const std::string& bytes) const {
        const std::string message = message_of<Error>([&] { run(fetched, bytes); });
        return message.substr(0, message.find(" [node"));
    }
};

const std::string pnm = "P6 2 1 255\n\1\2\3\4\5\6";

} // namespace

TEST_CASE("decode_image gives the image in sizes that the file decides") {
    const graph_of_a_file g;
    const tn::any_array image = g.run(tn::decode_image(g.file), pnm);
    CHECK(image.extents() == tn::extents{1, 2, 3});
    CHECK(image.data<std::uint8_t>()[5] == 6);
    CHECK(g.run(tn::decode_image<1>(g.file), pnm).extents() == tn::extents{1, 2, 1});
    CHECK(g.run(tn::decode_image<4, std::uint16_t>(g.file), pnm).type() ==
          tn::tensor_type{element_type::uint16, {1, 2, 4}});
    // and the step goes on with them
    const auto doubled = tn::cast<float>(tn::decode_image<3>(g.file)) * 2.0f;
    CHECK(g.run(tn::detail::as_tensor(doubled), pnm).data<float>()[5] == 12);
}

TEST_CASE("sizes of a decoded image that are numbers are checked, and names are bound") {
    const graph_of_a_file g;
    CHECK(g.run(tn::decode_image<tn::shape<1, 2, 3>>(g.file), pnm).extents() == tn::extents{1, 2, 3});
    CHECK(g.said<tn::invalid_argument_error>(tn::decode_image<tn::shape<28, 28, 3>>(g.file), pnm) ==
          "decode_image: the PNM image is 2 pixels wide and 1 high, but 28 by 28 pixels are asked for");
    const auto square = tn::decode_image<tn::shape<height, height, 3>>(g.file);
    CHECK(g.run(square, "P6 1 1 255\n123").extents() == tn::extents{1, 1, 3});
    CHECK_THROWS_AS(g.run(square, pnm), tn::invalid_argument_error);
}

TEST_CASE("what is no image, is another format or is too large is an error of the step") {
    const graph_of_a_file g;
    CHECK(g.said<tn::invalid_argument_error>(tn::decode_image(g.file), "GIF89a") ==
          "decode_image: this is no PNG, JPEG or PNM image: it begins with 47 49 46 38 39 61 (\"GIF89a\")");
    CHECK(g.said<tn::invalid_argument_error>(tn::decode_png(g.file), pnm) ==
          "decode_png: this is a PNM image, not a PNG one: it begins with 50 36 20 32 20 31 20 32 (\"P6 2 1 2\")");
    CHECK(
        contains(g.said<tn::invalid_argument_error>(tn::decode_jpeg(g.file), pnm), "decode_jpeg: this is a PNM image"));
    CHECK(contains(g.said<tn::resource_exhausted_error>(tn::decode_image(g.file, 1), pnm), "more than the limit of 1"));
    CHECK(contains(g.said<tn::data_loss_error>(tn::decode_image(g.file), pnm.substr(0, 14)), "cut off"));
}

TEST_CASE("images are encoded and decoded again in one step") {
    const graph_of_a_file g;
    const auto run = [&](const tn::any_tensor& fetched) {
        tn::session s;
        return std::move(s.run_untyped({}, {fetched})[0]);
    };
    const auto gray = tn::constant(tn::array<std::uint8_t, tn::shape<4, 5, 1>>(pixels(element_type::uint8, {4, 5, 1})));
    const auto deep =
        tn::constant(tn::array<std::uint16_t, tn::shape<4, 5, 4>>(pixels(element_type::uint16, {4, 5, 4})));
    const auto again = tn::decode_png<tn::shape<4, 5, 1>>(tn::encode_png(gray));
    const auto deep_again = tn::decode_png<4, std::uint16_t>(tn::encode_png(deep, {.compression = 9}));
    const auto nearly = tn::decode_jpeg<1>(tn::encode_jpeg(gray, {.quality = 100}));
    if (tn::has_image_format(tn::image_format::png)) {
        CHECK(run(again) == pixels(element_type::uint8, {4, 5, 1}));
        CHECK(run(deep_again) == pixels(element_type::uint16, {4, 5, 4}));
    } else CHECK_THROWS_AS(run(again), tn::unimplemented_error);
    if (tn::has_image_format(tn::image_format::jpeg)) {
        const tn::any_array image = run(nearly);
        REQUIRE(image.extents() == tn::extents{4, 5, 1});
        for (int i = 0; i < 20; ++i) CHECK(std::abs(image.data<std::uint8_t>()[i] - 5 * i) <= 8);
    } else CHECK_THROWS_AS(run(nearly), tn::unimplemented_error);
}

TEST_CASE("the rules of images refuse what cannot be, where the graph is made") {
    const graph_of_a_file g;
    const tn::any_tensor image = tn::untyped::placeholder(element_type::uint8, {4, 4, 3});
    const tn::any_tensor many = tn::untyped::placeholder(element_type::string, {3});
    CHECK_ERROR(tn::invalid_argument_error, "must be one text", tn::untyped::decode_image(many));
    CHECK_ERROR(tn::invalid_argument_error, "ranks differ", tn::untyped::decode_image(g.file, {4, 4}));
    CHECK_ERROR(tn::invalid_argument_error, "numbers of channels differ", tn::untyped::decode_png(g.file, {4, 4, 5}));
    CHECK_ERROR(tn::invalid_argument_error, "element type is not supported",
                tn::untyped::decode_jpeg(g.file, {4, 4, 3}, element_type::float32));
    CHECK_ERROR(tn::invalid_argument_error, "numbers of channels differ",
                tn::untyped::encode_jpeg(tn::untyped::placeholder(element_type::uint8, {4, 4, 4})));
    CHECK_ERROR(tn::invalid_argument_error, "rank is too low",
                tn::untyped::encode_png(tn::untyped::placeholder(element_type::uint8, {4, 4})));
    CHECK_ERROR(tn::invalid_argument_error, "element type is not supported",
                tn::untyped::encode_png(tn::untyped::placeholder(element_type::float32, {4, 4, 1})));
    // two nodes may be of one op
    CHECK(tn::untyped::decode_png(g.file).node() != tn::untyped::decode_png(g.file, {4, 4, 3}).node());
    CHECK(tn::untyped::encode_png(image).type() == tn::tensor_type{element_type::string, {}});
}
