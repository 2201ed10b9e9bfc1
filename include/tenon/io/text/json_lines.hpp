#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/io/text/element_text.hpp>

/// Records that are JSON objects, one a line (RFC 8259), as elements of the types that are asked for.

namespace tenon {

/// A member of each object.
struct json_column {
    std::string name = {};
    element_type element = element_type::float32;
    extents sizes = {}; ///< numbers: lists of lists of ... that are of these sizes; none: a value by itself
    /// The text of what each element of a member is that is missing or null; where there is none, it must not be missing.
    std::optional<std::string> otherwise = {};
    std::int64_t stride = 0; ///< elements from a row's to the next row's, as many as it has or more; 0: so many
    /// A list of any length of what `sizes` says: decode's out is an any_array for it, which becomes as long. The default is an empty one.
    bool any_length = false;
};

/// Takes records apart. A number with a fraction or an exponent is none for integers; bools are true and false; strings are
/// texts. Numbers are rounded to nearest, and must be in the type's range. Members that are not asked for are passed over,
/// whatever they hold; one that is must not be there twice.
///
/// Thread-safe.
class json_row_decoder {
public:
    /// invalid_argument_error, which begins with `who` as all messages do, where two columns have one name, where sizes are
    /// no numbers, and for a default that its column cannot hold.
    json_row_decoder(std::string who, std::vector<json_column> columns);
    json_row_decoder(json_row_decoder&&) noexcept;
    json_row_decoder& operator=(json_row_decoder&&) noexcept;
    ~json_row_decoder();

    /// Writes the elements of column c as elements row * stride, ... of out[c]; nullptr: nowhere, but they are read. Throws
    /// invalid_argument_error, naming place, member and what is there, or the byte where it is no JSON; then the row's elements
    /// may be written or not.
    void decode(std::string_view record, const record_place& where, void* const* out, std::int64_t row) const;

private:
    struct plan;
    class line_reader;
    class handler;
    std::unique_ptr<const plan> plan_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/text/json_lines.ipp>
#endif
