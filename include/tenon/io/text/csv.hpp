#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/io/text/element_text.hpp>

/// Records of comma-separated values (RFC 4180), as elements of their columns' types.

namespace tenon {

/// How records are written.
struct csv_options {
    char delimiter = ','; ///< '\t', ';', ...: no quote, line end, or character of a number
    /// A field may stand in quotes ("), and then holds delimiters, line ends, and quotes that are doubled. False: a quote is
    /// a character as others are.
    bool quotes = true;
    std::vector<std::string> na_values = {}; ///< texts that stand for a missing field: "NA"
    std::vector<std::string> header = {};    ///< the fields' names, which messages tell, where they are known
    bool forgiving = false;                  ///< spaces and tabs beside the quotes of a field are no part of it
    friend bool operator==(const csv_options&, const csv_options&) = default;
};

/// What a field, or each of a run of fields, holds.
struct csv_column {
    element_type element = element_type::float32; ///< none: it is passed over
    /// The text of what a missing field is; where there is none, it must not be missing.
    std::optional<std::string> otherwise = {};
    std::int64_t fields = 1; ///< how many fields in succession are this column's
    std::int64_t stride = 0; ///< elements from a row's to the next row's, `fields` or more; 0: so many
    friend bool operator==(const csv_column&, const csv_column&) = default;
};

/// Takes records apart. A field is missing when it is empty, in quotes or not, when it is an NA value, and, of numbers and bools,
/// also when it is spaces (or tabs) only. Spaces around numbers and bools are passed over; of strings they are a part. A line end
/// behind the record is passed over. Of numbers, a field may hold what detail::element_of_text reads.
///
/// Thread-safe.
class csv_row_decoder {
public:
    /// invalid_argument_error, which begins with `who` as all messages do, for options that make no sense, and for a default
    /// that its column cannot hold.
    csv_row_decoder(std::string who, std::vector<csv_column> columns, csv_options options = {});

    /// Writes the fields of column c as elements row * stride, ... of out[c], in order; nullptr: nowhere, but they are read. Of
    /// columns without elements out has nothing: c counts the others. Throws invalid_argument_error, naming place, column and
    /// text, for what is no such record; then the row's elements may be written or not.
    void decode(std::string_view record, const record_place& where, void* const* out, std::int64_t row) const;

    /// Fields of a record.
    std::int64_t fields() const noexcept { return fields_; }

private:
    struct column {
        element_type element;
        std::int64_t fields, stride;
        any_array otherwise; ///< one element, or nothing
    };
    struct field;
    class reader;

    static char checked_delimiter(const std::string& who, const csv_options& o);

    std::string who_;
    csv_options how_;
    std::vector<column> columns_;
    std::int64_t fields_ = 0;
    bool na_numbers_ = false; // an NA value could be read as a number
    bool stops_[256] = {};    // characters that end a field without quotes, or must not be there
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/text/csv.ipp>
#endif
