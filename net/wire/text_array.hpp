#pragma once

#include <string>
#include <utility>

#include <tenon/core/any_array.hpp>

/// A text as an array, which stands beside the body of a message, however long it is.

namespace tenon::net {

inline any_array text_array(std::string text) {
    any_array a(element_type::string, extents());
    *a.data<std::string>() = std::move(text);
    return a;
}
/// nullptr: it is no text.
inline const std::string* text_in(const any_array& a) {
    return a.type() == tensor_type{element_type::string, extents()} ? a.data<std::string>() : nullptr;
}

} // namespace tenon::net
