#include "../table.hpp"

#include <tenon/ops/decode_image.hpp>
#include <tenon/ops/parse_example.hpp>

// What they give is in texts of formats, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_texts(const char* op, const char* tests) {
    return {.op = op, .no_gradient = "none flows through a text", .cpu_only = true, .apart = tests};
}

const add_entries input{
    of_texts("parse_example", "ops/parse_example.cpp"), of_texts("decode_image", "ops/decode_image.cpp"),
    of_texts("encode_png", "ops/decode_image.cpp"), of_texts("encode_jpeg", "ops/decode_image.cpp")};

} // namespace
} // namespace op_table
