#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/sizes/extents.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/io/text/text_fault.hpp>

/// Elements and their texts, as files of text hold them, and the place in a file that a message names.

namespace tenon {

/// Where a record is: "data.csv:17" or "line 17" in a file of text, "record [3]" in a tensor of records, nothing where it is
/// the only one.
struct record_place {
    std::string_view file = {};
    std::uint64_t line = 0;           ///< from 1; 0: it has none
    std::int64_t index = -1;          ///< in the tensor, from 0; -1: it is in none
    const extents* records = nullptr; ///< the tensor's sizes
    const char* unit = "record";      ///< what an element of it is called
};
/// With ": " behind it where it says anything.
std::string to_string(const record_place& p);

namespace detail {

/// The element that all of a text says, spaces around it aside. Numbers are decimal, rounded to nearest: "+1.", ".5e-3", "nan",
/// "+inf", "-Infinity" (in any case); what is nearer to 0 than any number of the type is 0, what is beyond the largest is out of range. Bools are "true",
/// "false" (in any case), "1" and "0". A string is all of the text. `to`: an element, which stays where there is a fault.
text_fault element_of_text(std::string_view text, element_type e, void* to);
/// "is no float", "is out of the range of int8".
std::string words(text_fault f, element_type e);
/// The text in quotes, of a long one the beginning; what cannot be printed as "\x00".
std::string shown_text(std::string_view text);

/// The shortest text that element_of_text makes the same number of.
std::string text_of_number(std::int64_t v);
std::string text_of_number(std::uint64_t v);

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/text/element_text.ipp>
#endif
