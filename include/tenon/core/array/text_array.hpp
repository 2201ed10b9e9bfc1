#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/array/any_array.hpp>

namespace tenon::detail {

/// A text as an array without dimensions.
inline any_array text_array(std::string text) {
    any_array a(element_type::string, extents());
    *a.data<std::string>() = std::move(text);
    return a;
}
inline any_array text_array(const std::vector<std::string>& texts) {
    any_array a(element_type::string, {static_cast<std::int64_t>(texts.size())});
    std::copy(texts.begin(), texts.end(), a.data<std::string>());
    return a;
}
/// nullptr: it is no text.
inline const std::string* text_in(const any_array& a) {
    return a.type() == tensor_type{element_type::string, extents()} ? a.data<std::string>() : nullptr;
}

} // namespace tenon::detail
