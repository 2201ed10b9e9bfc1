#include "../table.hpp"

#include <tenon/ops/collective.hpp>

// What processes compute together.

namespace op_table {
namespace {

const add_entries together{{.op = "collective",
                            .no_gradient = "made of graphs that are differentiated already",
                            .cpu_only = true,
                            .apart = "net/collective/training.cpp"}};

} // namespace
} // namespace op_table
