#include "op_table/table.hpp"

#include <tenon/ops/input/reader.hpp>

// Readers: what they give is what is in files, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_reader(const char* op) {
    return {.op = op, .no_gradient = "none flows through a reader", .cpu_only = true, .apart = "ops/input/reader.cpp"};
}

const add_entries readers{of_reader("reader"), of_reader("reader_read"), of_reader("reader_read_up_to"),
                          of_reader("reader_reset"), of_reader("reader_count")};

} // namespace
} // namespace op_table
