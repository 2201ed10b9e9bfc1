#pragma once

#include <memory>
#include <vector>

#include <tenon/runtime/place/place.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>

/// Placement by what earlier runs took.
///
/// A placement is judged by a schedule of the step. Nodes go in the order in which they were made; a device does one
/// after another, and so does each of its streams for copies; a tensor crosses once to each device that reads it: variables
/// in each step, what is constant when the step is planned. CPU devices share the machine's threads, so they count as
/// one. Of memory each device has its variables, its copies of constants, of others' variables and of what is fed, and
/// the largest set of other values that live at one time. The better of two placements is the one that exceeds the
/// devices' limits by fewer bytes, then the one that takes less time, then the one for which fewer bytes cross; of equal
/// ones, the earlier. That of the rules is the first, so none is chosen that is worse.
///
/// The others are: each device alone; the nodes put one by one where they end earliest; the same with variables where
/// most of their readers were; and the nodes in their order, in stretches on one device after the other, of few devices where those suffice,
/// cut where few bytes cross. The best is improved by moving the groups of nodes that read from or are read by another
/// device's, those first for which most bytes cross, one at a time and as long as that helps.
/// Judging takes time linear in the nodes, and all judging together at most a million visits of nodes and their inputs,
/// or 16 judgements where that is more, so a placement takes time about linear in the nodes: a tenth of a second for
/// 10,000.
///
/// What was not timed is thought to take a microsecond and 0.1 ns a byte that it reads and writes, or what it took on
/// another kind of device where that is more; a link, 10 us and 10 GB/s. Another kind of device than the rules' is
/// considered only for nodes that were all timed on it, unless the rules' placement does not fit.

namespace tenon::runtime {

/// Thread-safe.
class cost_placer final : public placement_strategy {
public:
    explicit cost_placer(std::shared_ptr<const cost_measurements> m) : measured_(std::move(m)) {}

    void choose(const program& p, const plan_options& o, std::vector<placement_group>& groups) override;
    /// "cost model: 2.1 ms a step, by the rules 4.0 ms; ...", then a line a device: how long it is busy, its memory.
    void explain(const program& p, const plan_options& o, const placer& by, placement_explanation& e) override;

private:
    std::shared_ptr<const cost_measurements> measured_;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/place/cost_placer.ipp>
#endif
