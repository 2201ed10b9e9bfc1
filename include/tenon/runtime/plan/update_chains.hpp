#pragma once

#include <map>
#include <vector>

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// The updates of one variable in a step: items, in the order in which they are applied, which is that in which they
/// were made; it agrees with data and control.
struct update_chain {
    int variable; ///< its item
    std::vector<int> updates;
};
/// By the variable's value.
using update_chains = std::map<int, update_chain>;

/// Those of a program whose items are still in the order of their nodes. A variable that is fed has none.
update_chains find_update_chains(const program& p);

/// Whether input k of an item is a variable's current value (`variable_op`), and is not fed.
inline bool reads_current(const program& p, const program_item& i, std::size_t k) {
    if (i.op != i.origin->op) return false; // made by the planner
    const node_output& from = i.origin->inputs[k];
    return from.index == 1 && from.node->op->is(op_flags::variable) && p.value(i.inputs[k]).feed < 0 &&
           p.reads(i, static_cast<int>(k));
}

/// What an update is computed of, of current values, is of what the updates made before it left (SEMANTICS 20). Where there
/// are such, the nodes without effects between the current values and the update are evaluated for it anew: copies of
/// their items stand before it. Updates that take different variables' values from one item are one: they find what was
/// left before the first of them. True where the program has changed; its items are other ones then, and so are those of
/// the chains.
bool compute_updates_of_current(program& p, update_chains& chains);

/// Where a step's updates are computed of what it finds in a variable, that is a value of its own: the step's reads are of
/// an earlier moment, and another step may have updated the variable in between.
void part_current_values(program& p, const update_chains& chains);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/update_chains.ipp>
#endif
