#include "op_table/table.hpp"

#include <tenon/ops/state/step_ledger.hpp>

// Step ledgers: what they give depends on what replicas have done, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_ledger(const char* op) {
    return {.op = op,
            .no_gradient = "none flows through a ledger",
            .cpu_only = true,
            .apart = "train/replicated/sync_replicas.cpp"};
}

const add_entries ledgers{of_ledger("step_ledger"),    of_ledger("ledger_begin"), of_ledger("ledger_join"),
                          of_ledger("ledger_commit"),  of_ledger("ledger_await"), of_ledger("ledger_apply"),
                          of_ledger("ledger_advance"), of_ledger("ledger_leave"), of_ledger("ledger_discard"),
                          of_ledger("ledger_pause"),   of_ledger("ledger_state"), of_ledger("ledger_attend")};

} // namespace
} // namespace op_table
