#pragma once

#include <tenon/core/config.hpp>

/// Numbers from text, exactly and whatever the locale is.

namespace tenon::detail {

/// The number that the text [begin, end) starts with, rounded to nearest; 0 where it starts with none. The text is at most 63
/// characters long.
float read_float(const char* begin, const char* end);
double read_double(const char* begin, const char* end);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/core/number_text.ipp>
#endif
