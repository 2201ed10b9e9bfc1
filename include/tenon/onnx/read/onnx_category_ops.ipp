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

/// Texts and numbers that stand for others (ai.onnx.ml).

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

TENON_INLINE std::vector<entry> category_operators() {
    return {{"ai.onnx.ml.CategoryMapper", category_mapper},
            {"ai.onnx.ml.LabelEncoder", label_encoder},
            {"ai.onnx.ml.OneHotEncoder", one_hot_encoder}};
}

} // namespace tenon::detail::onnx
