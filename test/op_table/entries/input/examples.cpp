#include "op_table/table.hpp"

#include <tenon/ops/image/decode_image.hpp>
#include <tenon/ops/input/parse_example.hpp>

// What they give is in texts of formats, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_texts(const char* op, const char* tests) {
    return {.op = op, .no_gradient = "none flows through a text", .cpu_only = true, .apart = tests};
}

const add_entries input{
    of_texts("parse_example", "ops/input/parse_example.cpp"), of_texts("decode_image", "ops/image/decode_image.cpp"),
    of_texts("encode_png", "ops/image/decode_image.cpp"), of_texts("encode_jpeg", "ops/image/decode_image.cpp")};

} // namespace
} // namespace op_table
