#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include <tenon/core/array/any_array.hpp>

/// Values of Python as arrays, and back.

namespace tenon::python {

/// tenon.Array. Its memory is shared with whoever else has it.
struct held_array {
    any_array values;
};

nanobind::object to_python(any_array a);

/// What Python gives where an array is asked for: an Array, whatever has __dlpack__ or a buffer, numbers, texts (str or bytes), and
/// nested lists of those. The first kinds keep their element type; numbers and texts become elements of `type`, exactly
/// (floating ones rounded), or, where that is element_type::none, bool, int64, float or string. `who` begins messages. TypeError for
/// what is none of these, invalid_argument_error for what does not fit.
any_array array_of(nanobind::handle value, element_type type, const std::string& who);

/// Nested lists of numbers; of texts str, whose bytes that are no UTF-8 are surrogates (as os.fsdecode makes them), or bytes.
nanobind::object to_lists(const any_array& a, bool as_bytes = false);

/// What is shown to people: bytes that are no UTF-8 as \xff.
nanobind::str shown_text(std::string_view text);

/// (2, 3): sizes as numbers, a named one as its name, one that only a step knows as None.
nanobind::tuple shape_of(const extents& e);

/// The element type of a name as Array.dtype gives it; NumPy's names are taken, too. invalid_argument_error.
element_type element_of_name(const std::string& name);

} // namespace tenon::python
