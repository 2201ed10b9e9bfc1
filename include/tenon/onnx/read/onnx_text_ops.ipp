#pragma once

#include <tenon/io/image/image_format.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/shape/selection.hpp>
#include <tenon/ops/text/strings.hpp>

/// Operators of ONNX for texts, and for files that are bytes.

namespace tenon::detail::onnx {

inline any_tensor text_constant(const std::string& text, const extents& sizes = {}) {
    any_array a(element_type::string, sizes);
    *a.data<std::string>() = text;
    return untyped::constant(std::move(a));
}
// A text that none is: Unicode keeps its last code point free.
inline constexpr char no_text[] = "\xF4\x8F\xBF\xBF";

inline void string_concat(const call& c) { c.give(untyped::string_join("", {c.x(0), c.x(1)})); }
inline void string_split(const call& c) {
    if (c.attribute("maxsplit")) c.refuse("a most of splits");
    const any_tensor pieces = untyped::string_split(c.x(), c.text("delimiter", ""), {.padding = no_text});
    const any_tensor is_there = untyped::logical_not(untyped::string_equal(pieces, text_constant(no_text)));
    c.give(untyped::where(is_there, pieces, text_constant("")), 0);
    c.give(untyped::sum(untyped::cast(is_there, element_type::int64), {-1}), 1);
}
// Matched from the beginning to the end, all of a text becomes one that it was not.
inline void regex_full_match(const call& c) {
    const any_tensor x = c.x();
    const std::string pattern = "\\A(?:" + c.text("pattern", "") + ")\\z";
    c.give(untyped::string_equal(untyped::regex_replace(x, pattern, no_text), text_constant(no_text)));
}
inline void string_normalizer(const call& c) {
    const attribute_message* const stop = c.attribute("stopwords");
    const bool sensitive = c.integer("is_case_sensitive", 0) != 0, words = stop && !stop->strings.empty();
    if (c.text("case_change_action", "NONE") != "NONE" || (words && !sensitive))
        c.refuse("letters in another case: those beyond ASCII have none here");
    const any_tensor x = c.x();
    if (!words) return c.give(x);
    if (x.rank() != 1 && x.rank() != 2) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions");
    any_array list(element_type::string, {static_cast<std::int64_t>(stop->strings.size())});
    std::copy(stop->strings.begin(), stop->strings.end(), list.data<std::string>());
    const any_tensor row = x.rank() == 2 ? untyped::squeeze(x, {0}) : x;
    const any_tensor stops = untyped::string_equal(untyped::expand_dims(row, {1}), untyped::constant(std::move(list)));
    const any_tensor stays = untyped::logical_not(untyped::any(stops, {1}));
    // Where none stays, an empty text does.
    const any_tensor none = untyped::expand_dims(untyped::logical_not(untyped::any(stays)), {0});
    const any_tensor kept =
        untyped::boolean_mask(untyped::concat({row, text_constant("", {1})}, 0), untyped::concat({stays, none}, 0));
    c.give(x.rank() == 2 ? untyped::expand_dims(kept, {0}) : kept);
}

// What the op decode_image of tenon::image says, by the names of its members (ops/image/decode_image.hpp): the core has no images.
struct said_to_decode_image {
    image_format format = image_format::automatic;
    element_type element = element_type::uint8;
    extents sizes;
    std::int64_t largest_image = decode_image_options().largest_image;
};
inline void image_decoder(const call& c) {
    const op_definition* const decoder = find_op("decode_image");
    if (!decoder) c.refuse("images are read by tenon::image: link it, and include <tenon/image.hpp>");
    const std::string colours = c.text("pixel_format", "RGB");
    if (colours != "RGB" && colours != "BGR" && colours != "Grayscale")
        c.wrong("its pixel format is \"" + colours + '"');
    said_to_decode_image how;
    how.sizes = {extent(), extent(), extent(3)};
    const any_tensor image({add_node(*decoder, {c.x()}, encode(how)), 0});
    if (colours == "RGB") return c.give(image);
    if (colours == "BGR") return c.give(untyped::reverse(image, {2}));
    // 0.299, 0.587 and 0.114 of 2^16, rounded: of colours, also where the file has a gray of its own.
    const any_tensor parts = untyped::cast(integer_constant({19595, 38470, 7471}, {3}), element_type::int32);
    const any_tensor gray =
        untyped::sum(untyped::multiply(untyped::cast(image, element_type::int32), parts), {2}, true);
    c.give(untyped::cast(untyped::shift_right(untyped::add(gray, 1 << 15), 16), element_type::uint8));
}

TENON_INLINE std::vector<entry> text_operators() {
    return {{"ImageDecoder", image_decoder},
            {"RegexFullMatch", regex_full_match},
            {"StringConcat", string_concat},
            {"StringNormalizer", string_normalizer},
            {"StringSplit", onnx::string_split}};
}

} // namespace tenon::detail::onnx
