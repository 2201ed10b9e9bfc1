#pragma once

#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>

namespace tenon::detail {

// Calls f with an element of the C++ type; element_type::none must not come here.
template <class F> auto with_element(element_type element, F&& f) {
    switch (element) {
    case element_type::float32: return f(float{});
    case element_type::float64: return f(double{});
    case element_type::float16: return f(half{});
    case element_type::bfloat16: return f(bfloat16{});
    case element_type::int8: return f(std::int8_t{});
    case element_type::int16: return f(std::int16_t{});
    case element_type::int32: return f(std::int32_t{});
    case element_type::int64: return f(std::int64_t{});
    case element_type::uint8: return f(std::uint8_t{});
    case element_type::uint16: return f(std::uint16_t{});
    case element_type::uint32: return f(std::uint32_t{});
    case element_type::uint64: return f(std::uint64_t{});
    case element_type::boolean: return f(bool{});
    case element_type::string: return f(std::string{});
    case element_type::none: break;
    }
    throw internal_error("array: no element type");
}

} // namespace tenon::detail
