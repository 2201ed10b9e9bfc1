#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any_array.hpp>

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
/// What texts take beside the strings themselves.
inline std::size_t bytes_of_texts(const std::string* texts, std::size_t count) noexcept {
    const std::size_t within = std::string().capacity();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (texts[i].capacity() > within) bytes += texts[i].capacity() + 1;
    return bytes;
}
/// nullptr: it is no text.
inline const std::string* text_in(const any_array& a) {
    return a.type() == tensor_type{element_type::string, extents()} ? a.data<std::string>() : nullptr;
}

} // namespace tenon::detail
