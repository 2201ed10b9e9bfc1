#pragma once

#include <string>

#include <tenon/core/config.hpp>

/// Numbers from text and as text, exactly and whatever the locale is.

namespace tenon::detail {

/// The number that the text [begin, end) starts with, rounded to nearest; 0 where it starts with none. The text is at most 63
/// characters long.
float read_float(const char* begin, const char* end);
double read_double(const char* begin, const char* end);

/// v in the fewest digits that are read as v again: "0.1", "1e-07", "inf"; each NaN is "nan". What a message says of a number that need
/// not be whole (std::to_string makes 0.000000 of what is small; test/layout finds it).
std::string text_of_number(float v);
std::string text_of_number(double v);
/// v with so many digits at most, at most 17, as printf's "%.*g" has it where the decimal point is one.
std::string text_of_number(double v, int digits);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/core/text/number_text.ipp>
#endif
