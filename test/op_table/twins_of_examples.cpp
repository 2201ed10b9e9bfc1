#include <tenon/input.hpp>

#include "twins.hpp"

// Typed and untyped: what is made of texts, which need a format of their own; the values are tested in test/ops.

using namespace op_table;

TEST_CASE("typed and untyped: features of examples") {
    twins t;
    const auto many = placeholder<std::string, shape<batch_size{}>>();
    const auto one_text = placeholder<std::string, shape<>>();
    const fixed_feature<float, shape<2>> fixed("a", 0.5f);
    const padded_feature<std::int64_t> padded("b", 7);
    const sequence_feature<std::string> sequence("c");
    const auto length = length_of(padded);
    const auto same_parts = [&](const char* name, const auto& typed, const std::vector<any_tensor>& untyped) {
        std::size_t i = 0;
        std::apply([&](const auto&... f) { (t.same_operation(name, f, untyped[i++]), ...); }, typed);
        CHECK(i == untyped.size());
    };
    const std::vector<untyped::feature_spec> specs{fixed.spec(), padded.spec(), length.spec()};
    const std::vector<untyped::feature_spec> lists{sequence.spec(), fixed.spec()};
    same_parts("parse_example", parse_example(many, fixed, padded, length), untyped::parse_example(many, specs));
    same_parts("parse_single_example", parse_single_example(one_text, fixed, padded, length),
               untyped::parse_single_example(one_text, specs));
    same_parts("parse_sequence_example", parse_sequence_example(many, sequence, fixed),
               untyped::parse_sequence_example(many, lists));
    same_parts("parse_single_sequence_example", parse_single_sequence_example(one_text, sequence, fixed),
               untyped::parse_single_sequence_example(one_text, lists));
}

TEST_CASE("typed and untyped: images of files") {
    twins t;
    const auto file = placeholder<std::string, shape<>>();
    const extents colours{extent(), extent(), 3};
    t.same_operation("decode_image", decode_image(file), untyped::decode_image(file));
    t.same_operation("decode_image", decode_image<3, std::uint16_t>(file, 5),
                     untyped::decode_image(file, colours, element_type::uint16, 5));
    t.same_operation("decode_png", decode_png<3>(file), untyped::decode_png(file, colours));
    t.same_operation("decode_png", decode_png<shape<28, 28, 1>>(file), untyped::decode_png(file, {28, 28, 1}));
    t.same_operation("decode_jpeg", decode_jpeg<3>(file), untyped::decode_jpeg(file, colours));
    const auto image = placeholder<std::uint8_t, shape<4, 5, 3>>();
    t.same_operation("encode_png", encode_png(image, {.compression = 3}),
                     untyped::encode_png(image, {.compression = 3}));
    t.same_operation("encode_jpeg", encode_jpeg(image, {.quality = 3, .progressive = true}),
                     untyped::encode_jpeg(image, {.quality = 3, .progressive = true}));
}
