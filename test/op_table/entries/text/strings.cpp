#include "op_table/table.hpp"

#include <tenon/ops/input/decode.hpp>
#include <tenon/ops/text/strings.hpp>

// Texts, and what records hold: samples are of numbers.

namespace op_table {
namespace {

const std::string decoding = "ops/input/decode.cpp", texts = "ops/text/strings.cpp", why = "of texts";

const add_entries decoders{
    {.op = "decode_csv", .elements = all_elements, .no_gradient = why, .cpu_only = true, .apart = decoding},
    {.op = "decode_json", .elements = all_elements, .no_gradient = why, .cpu_only = true, .apart = decoding},
    {.op = "decode_raw", .no_gradient = why, .cpu_only = true, .apart = decoding},
};
const element_types strings = element_types{}.with(element_type::string);
const add_entries functions{
    {.op = "string_strip", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "string_lower", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "string_upper", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "string_length", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "substr", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "regex_replace", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "to_hash_bucket", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "to_number", .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "string_join", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "string_equal", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
    {.op = "string_split", .elements = strings, .no_gradient = why, .cpu_only = true, .apart = texts},
};

} // namespace
} // namespace op_table
