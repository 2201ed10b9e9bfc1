#include "op_table/table.hpp"

#include <tenon/ops/collective/collective.hpp>
#include <tenon/ops/collective/device_collective.hpp>

// What processes compute together.

namespace op_table {
namespace {

entry of_processes(const char* op, bool cpu_only, const char* tested, element_types elements = fixed_size_elements) {
    return {.op = op,
            .elements = elements,
            .no_gradient = "made of graphs that are differentiated already",
            .cpu_only = cpu_only,
            .apart = tested};
}

const add_entries together{of_processes("collective", true, "net/collective/training.cpp"),
                           of_processes("device_collective_start", false, "cuda/processes.cpp", floating),
                           of_processes("device_collective", true, "cuda/processes.cpp", floating),
                           of_processes("device_collective_done", false, "cuda/processes.cpp", floating)};

} // namespace
} // namespace op_table
