#include "op_table/table.hpp"

#include <tenon/ops/input/iterator.hpp>

// Iterators: what they give is what a data set of the program has, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_iterator(const char* op) {
    return {.op = op, .no_gradient = "none flows through a data set", .cpu_only = true, .apart = "data/iterator.cpp"};
}

const add_entries iterators{of_iterator("iterator"),          of_iterator("iterator_initialize"),
                            of_iterator("iterator_get_next"), of_iterator("iterator_next_of"),
                            of_iterator("iterator_handle"),   of_iterator("iterator_save"),
                            of_iterator("iterator_restore"),  of_iterator("iterator_report")};

} // namespace
} // namespace op_table
