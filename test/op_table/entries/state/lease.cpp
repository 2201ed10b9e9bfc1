#include "op_table/table.hpp"

#include <tenon/ops/state/lease.hpp>

// Leases: what they give depends on who has claimed them before, and on the time, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_lease(const char* op) {
    return {.op = op, .no_gradient = "none flows through a lease", .cpu_only = true, .apart = "ops/state/lease.cpp"};
}

const add_entries leases{of_lease("lease"), of_lease("claim_lease")};

} // namespace
} // namespace op_table
