#pragma once

#include <initializer_list>
#include <string>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/number.hpp>

/// Values in nested braces where their element type is known at run time only.

namespace tenon::detail {

/// A number or a text, or a list of such: what braces give a function.
class nested_value {
public:
    template <AsNumber N> nested_value(const N& n) : number_(n) {}         // NOLINT: braces of depth 0
    nested_value(const char* text) : text_(text), is_text_(true) {}        // NOLINT
    nested_value(const std::string& text) : text_(text), is_text_(true) {} // NOLINT
    nested_value(std::initializer_list<nested_value> list) : list_(list), is_list_(true) {}

private:
    struct writer;
    friend any_array array_of(const nested_value& values, const tensor_type& type, const std::string& who);

    number number_;
    std::string text_;
    std::initializer_list<nested_value> list_{};
    bool is_text_ = false;
    bool is_list_ = false;
};

/// The array of a type whose sizes may be open. Throws invalid_argument_error, which begins with `who`, where a list is
/// ragged or does not fit the type, or where the elements cannot hold one of its numbers exactly, floating ones rounded.
any_array array_of(const nested_value& values, const tensor_type& type, const std::string& who);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/core/array/nested_values.ipp>
#endif
