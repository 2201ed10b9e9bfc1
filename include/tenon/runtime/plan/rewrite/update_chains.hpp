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

namespace detail {

// Two of the kind are one where all else is equal, and one may be evaluated twice.
inline bool has_no_effects(const op_definition& op) {
    return !op.is(op_flags::stateful) && !op.is(op_flags::source) && !op.is(op_flags::updates);
}
// Whether it is a variable's current value (`variable_op`).
inline bool is_current_value(const node_output& o) { return o.index == 1 && o.node->op->is(op_flags::variable); }

} // namespace detail

/// Whether input k of an item is a variable's current value, and is not fed.
inline bool reads_current(const program& p, const program_item& i, std::size_t k) {
    if (i.op != i.origin->op) return false; // made by the planner
    return detail::is_current_value(i.origin->inputs[k]) && p.value(i.inputs[k]).feed < 0 &&
           p.reads(i, static_cast<int>(k));
}

/// An item to be put in front of another one.
struct inserted_item {
    int before;
    program_item item;
};
/// Puts items, which are in the order of `before`, into a program whose items are still in the order of their nodes. All get
/// other numbers, those of the chains too; the new number by the old one.
std::vector<int> insert_items(program& p, update_chains& chains, std::vector<inserted_item>&& items);

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
#include <tenon/runtime/plan/rewrite/update_chains.ipp>
#endif
