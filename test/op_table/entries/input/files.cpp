#include "op_table/table.hpp"

#include <tenon/ops/input/files.hpp>

// What they give is what is in files, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_files(const char* op) {
    return {.op = op, .no_gradient = "none flows through a file", .cpu_only = true, .apart = "ops/input/files.cpp"};
}

const add_entries files{of_files("read_file"),    of_files("write_file"), of_files("remove_files"),
                        of_files("list_files"),   of_files("claim_file"), of_files("save_shard"),
                        of_files("restore_shard")};

} // namespace
} // namespace op_table
