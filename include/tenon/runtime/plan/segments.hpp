#pragma once

#include <unordered_map>
#include <vector>

#include <tenon/runtime/plan/rewrite/prune.hpp>

/// A program, cut where its ops wait.

namespace tenon::runtime {

/// What a step does in one piece: a segment, all that can run once certain ops that wait have completed; or one such op.
struct step_unit {
    int waits = -1;           ///< the item that waits, or -1: a segment
    std::vector<int> items{}; ///< of a segment, in order
    /// Values that come from elsewhere: of a segment, what it is fed; of an op, its inputs, -1: unread.
    std::vector<int> takes{};
    /// Of those: what updates are computed of, where other updates of the step may have come in between.
    std::vector<int> taken_current{};
    /// Values that go elsewhere or are fetched: of a segment, what it fetches; of an op, its outputs.
    std::vector<int> gives{};
    std::vector<int> then{}; ///< units that come after it
    int before = 0;          ///< how many come before it
    /// Of a segment: not empty where sizes of its values are known late. The values whose sizes decide them.
    std::vector<int> late_from{};
    std::vector<int> inferred{}; ///< then: the items of the program, in order, whose sizes follow from those
};

/// A placed program's units. A segment is all items that depend on the same ops that
/// wait: there is no circle, and no segment waits for what it does not need. Variables and constants are read in each segment
/// that needs them; a variable that the step updates elsewhere, maybe before, is read in the first segment and handed on, so
/// that all readers find what was there before the step (SEMANTICS 20).
std::vector<step_unit> cut_into_segments(const program& p);

/// Makes segments of one program, one after another: what all of them ask of it is found once.
class segment_programs {
public:
    segment_programs() = default;
    explicit segment_programs(const program& p);
    /// A segment of `p` as a program of its own, which is fed what the segment takes, and whose fetches are what it gives.
    program of(const program& p, const step_unit& segment, const late_types& late) const;

private:
    std::vector<int> made_by_;                                           // by value: its item
    std::unordered_map<const node*, int> variables_;                     // items
    std::unordered_map<const variable_resource*, std::size_t> owner_of_; // among the program's variables
    std::vector<int> first_after_, after_;                               // by item: those that are made to run after it
};

/// Whether an item is a variable or a constant, which is read in each segment that needs it.
inline bool is_read_anywhere(const program_item& i) {
    return (i.op->is(op_flags::variable) || i.op->is(op_flags::constant)) && i.predecessors.empty() && !i.target;
}

/// Whether an item may change what outlives a step: variables, or what queues hold.
inline bool changes_resources(const program_item& i) { return i.op->is(op_flags::updates) || i.op->is(op_flags::uses); }

/// Whether anything waits.
bool has_waits(const program& p);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/segments.ipp>
#endif
