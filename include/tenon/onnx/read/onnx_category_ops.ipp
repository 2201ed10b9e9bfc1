#pragma once

#include <cmath>
#include <map>
#include <type_traits>
#include <utility>

#include <tenon/core/with_element.hpp>
#include <tenon/io/stream/stacked.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/shape/selection.hpp>
#include <tenon/ops/text/strings.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/reduce/reduction.hpp>

/// Texts and numbers that stand for others (ai.onnx.ml); texts; and files that are bytes.

namespace tenon::detail::onnx {

template <class List> any_array array_of_list(const List& list, element_type e) {
    any_array a(e, {static_cast<std::int64_t>(list.size())});
    with_element(e, [&]<class T>(const T&) {
        if constexpr (std::is_constructible_v<T, typename List::value_type>)
            for (std::size_t i = 0; i < list.size(); ++i) a.data<T>()[i] = static_cast<T>(list[i]);
    });
    return a;
}
// What an attribute begun with `name` lists: name + "_tensor", "_strings", "_int64s", "_floats"; no array: there is none.
inline any_array listed(const call& c, const std::string& name) {
    if (const auto* const a = c.attribute((name + "_tensor").c_str())) {
        any_array all = c.read(*a);
        if (all.rank() != 1) c.wrong(name + "_tensor has " + std::to_string(all.rank()) + " dimensions");
        return all;
    }
    if (const auto* const a = c.attribute((name + "_strings").c_str()))
        return array_of_list(a->strings, element_type::string);
    if (c.attribute((name + "_int64s").c_str()))
        return array_of_list(c.integers((name + "_int64s").c_str()), element_type::int64);
    if (const auto* const a = c.attribute((name + "_floats").c_str()))
        return array_of_list(a->floats, element_type::float32);
    return {};
}

// Of each element of x which of the keys it is, the first one of equal ones; as many as there are where it is none. int64.
inline any_tensor place_among(const call& c, const any_array& keys, const any_tensor& x) {
    if (x.element() != keys.element())
        c.wrong("its input is of " + std::string(name_of(x.element())) + ", its keys are " +
                std::string(name_of(keys.element())));
    const std::int64_t count = keys.elements();
    std::vector<std::int64_t> first; // of each different key: which it is
    with_element(keys.element(), [&]<class T>(const T&) {
        std::map<T, std::int64_t> seen;
        for (std::int64_t i = 0; i < count; ++i) {
            const T& k = keys.data<T>()[i];
            if constexpr (std::is_floating_point_v<T>)
                if (std::isnan(k)) c.refuse("a key that is no number");
            if (seen.emplace(k, i).second) first.push_back(i);
        }
    });
    // Numbered by where they occur first, what is equal to a key has its number.
    const auto different = static_cast<std::int64_t>(first.size());
    const any_tensor all = untyped::concat({untyped::constant(keys.share()), reshaped(x, {reshape_op::deduced})}, 0);
    const any_tensor number = untyped::slice(untyped::unique(all, element_type::int64)[1], {range{.begin = count}});
    first.push_back(count);
    const any_tensor place =
        untyped::gather(integer_constant(first, {different + 1}), untyped::minimum(number, different), 0);
    return untyped::reshape_like(place, x);
}

// values[place of x among the keys], or `otherwise`, of one element.
inline void give_mapped(const call& c, const any_array& keys, const any_array& values, const any_array& otherwise) {
    if (keys.rank() != 1 || values.rank() != 1 || !(keys.extents() == values.extents()) || keys.elements() == 0)
        c.wrong("it has " + std::to_string(keys.rank() == 1 ? keys.elements() : 0) + " keys and " +
                std::to_string(values.rank() == 1 ? values.elements() : 0) + " values");
    if (otherwise.elements() != 1 || otherwise.element() != values.element()) c.wrong("its default is no value");
    const std::int64_t count = values.elements();
    any_array all = with_room(values.copy(), count, count + 1);
    with_element(all.element(), [&]<class T>(const T&) { all.data<T>()[count] = otherwise.data<T>()[0]; });
    c.give(untyped::gather(untyped::constant(std::move(all)), place_among(c, keys, c.x()), 0));
}
inline any_array default_of(const call& c, element_type e) {
    if (const auto* const a = c.attribute("default_tensor")) return c.read(*a);
    if (e == element_type::string)
        return array_of_list(std::vector<std::string>{c.text("default_string", "_Unused")}, e);
    if (is_floating(e)) return array_of_list(std::vector<double>{c.real("default_float", -0.0)}, e);
    return array_of_list(std::vector<std::int64_t>{c.integer("default_int64", -1)}, e);
}

inline void label_encoder(const call& c) {
    any_array keys = listed(c, "keys"), values = listed(c, "values");
    if (!keys) keys = listed(c, "classes"); // of its first version, which numbers texts, or the other way round
    if (!values) {
        std::vector<std::int64_t> numbers(static_cast<std::size_t>(keys ? keys.elements() : 0));
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
        values = array_of_list(numbers, element_type::int64);
        if (c.x().element() == element_type::int64) std::swap(keys, values);
    }
    if (!keys || !values) c.wrong("it has no keys");
    give_mapped(c, keys, values, default_of(c, values.element()));
}
inline void category_mapper(const call& c) {
    any_array keys = listed(c, "cats"), values = array_of_list(c.integers("cats_int64s"), element_type::int64);
    if (!keys || keys.element() != element_type::string) c.wrong("it has no cats_strings");
    if (c.x().element() == element_type::int64) std::swap(keys, values);
    give_mapped(c, keys, values, default_of(c, values.element()));
}
inline void one_hot_encoder(const call& c) {
    const any_array keys = listed(c, "cats");
    if (!keys || keys.elements() == 0) c.wrong("it has no cats");
    const any_tensor x = c.x();
    const bool texts = x.element() == element_type::string || keys.element() == element_type::string;
    any_tensor place = place_among(c, keys, texts ? x : untyped::cast(x, keys.element()));
    const any_tensor all = numbers_to(c, keys.elements());
    if (c.integer("zeros", 1) == 0) place = untyped::gather(all, place, 0); // which fails where it is none
    c.give(untyped::cast(untyped::equal(untyped::expand_dims(place, {-1}), all), element_type::float32));
}

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
    std::int64_t format = 0; // automatic
    element_type element = element_type::uint8;
    extents sizes;
    std::int64_t largest_image = std::int64_t{1} << 26;
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

TENON_INLINE std::vector<entry> category_operators() {
    return {{"ImageDecoder", image_decoder},
            {"RegexFullMatch", regex_full_match},
            {"StringConcat", string_concat},
            {"StringNormalizer", string_normalizer},
            {"StringSplit", onnx::string_split},
            {"ai.onnx.ml.CategoryMapper", category_mapper},
            {"ai.onnx.ml.LabelEncoder", label_encoder},
            {"ai.onnx.ml.OneHotEncoder", one_hot_encoder}};
}

} // namespace tenon::detail::onnx
