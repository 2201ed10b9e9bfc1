#pragma once

#include <cstddef>
#include <string>

#include <tenon/io/json/json_value.hpp>

/// What JSON texts say, for readers that trust none of it. All of graph/ and above that parses JSON does it here: nlohmann's
/// parser is in json_parse.ipp, and below in io/text/json_lines.ipp.

namespace tenon::detail {

/// Reads a text of at most `deepest` nested lists and objects. Throws data_loss_error when it is no JSON,
/// invalid_argument_error when it is too deep or an object has a name twice; both begin with `what`.
json_value parse_json(const std::string& text, const std::string& what, int deepest = 32);

/// Takes what a text says, piece by piece, for what should not become a json_value first. What returns false ends the
/// reading.
class json_listener {
public:
    virtual ~json_listener() = default;
    virtual bool begin_object() = 0;
    virtual bool key(std::string&& name) = 0;
    virtual bool end_object() = 0;
    virtual bool begin_list() = 0;
    virtual bool end_list() = 0;
    /// A text, a number, true, false or null.
    virtual bool scalar(json_value&& v) = 0;
    /// "it is no JSON at byte 7: why", or that a number is out of range.
    virtual void defect(const std::string& what) = 0;
};
/// What json_listener::defect is told of an error of the parser's.
std::string json_defect(std::size_t at, const std::string& token, int id, const std::string& words);
/// Whether all of the text was read.
bool read_json(const char* text, std::size_t bytes, json_listener& listener);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/json/json_parse.ipp>
#endif
