#pragma once

#include <string>

#include <tenon/core/error.hpp>
#include <tenon/io/json/json_value.hpp>
#include <tenon/op/attribute.hpp>

/// Types and attributes from JSON, the reverse of json_write.hpp. What is not right is an invalid_argument_error.

namespace tenon::detail {

// One mistake in a text, wherever it is; the reader adds the place.
[[noreturn]] inline void json_mistake(const std::string& words) { throw invalid_argument_error(words); }

template <class T> const T& json_get(const json_value& v, const char* wanted, const std::string& of) {
    if (const T* found = v.get<T>()) return *found;
    json_mistake(of + " must be " + wanted + ", not " + v.described());
}

tensor_type type_of_json(const json_value& v);
/// A number, a text, a list of numbers, an element type, sizes, an array or a tape.
attribute attribute_of_json(const json_value& v);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/graph/json_read.ipp>
#endif
