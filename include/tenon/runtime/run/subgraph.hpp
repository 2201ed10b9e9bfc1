#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <tenon/op/wait.hpp>
#include <tenon/runtime/plan/segments.hpp>
#include <tenon/runtime/run/segment.hpp>

/// Segments and the ops that wait between them.

namespace tenon::runtime {

/// What a request is run as: one segment, or several, and what waits between them.
class subgraph {
public:
    /// Of a program that was pruned and placed. Makes the plans of all segments whose sizes are known. Throws what they throw.
    /// `is_distributed`: of a step on several tasks.
    subgraph(program&& placed, const plan_options& o, bool is_distributed = false);
    ~subgraph();
    subgraph(subgraph&&) = delete;

    /// That of a step that is one segment and waits for nothing, or nullptr.
    const std::shared_ptr<segment>& only() const noexcept { return only_; }

    bool accepts(const any_array* const* feeds) const;
    bool is_measured() const noexcept { return options_.measure; }
    std::uint64_t epoch() const noexcept { return options_.epoch; }
    /// Of all segments whose sizes are known.
    plan_summary summary() const;
    std::vector<std::string> order() const; ///< "name (op)", segment by segment
    std::size_t kept_bytes() const;
    recording_counts recordings() const; ///< of all segments
    /// Of what ops that wait gave in the last step, or in one of those that run: the sizes that only they tell.
    given_sizes last_sizes() const;

private:
    friend class subgraph_run;
    // Where a step finds an array: in what it is fed, or in a slot. Neither: only sizes matter.
    struct source {
        int feed = -1;
        int slot = -1;
        bool last = false; // nobody else needs what is in the slot
    };
    struct late_segment {
        std::shared_ptr<runtime::segment> segment;
        std::uint64_t used = 0;
    };
    struct unit {
        step_unit cut;
        std::vector<source> takes;
        std::vector<int> gives; // slots
        /// Of a segment, by unit that comes after it: which of what it gives is all that the unit needs of it, or -1. What is sent goes
        /// when it is there, and not when the segment has ended.
        std::vector<int> then_by{};
        std::vector<bool> lends{}; // by what it gives: it is only read, and copied on its way
        bool gives_early = false;  // there is such
        bool changes = false;      // variables, or what queues hold
        // Of a segment:
        std::vector<std::string> updated{}; // variables
        std::vector<std::string> changed{}; // others that it changes, and does not only take from; of an op, too
        bool has_effects = false;           // others
        std::shared_ptr<runtime::segment> segment{};              // where its sizes are known
        std::map<std::vector<std::int64_t>, late_segment> late{}; // by what was known late; under the guard
        // Of an op that waits:
        const node* origin = nullptr;
        bool receives = false, sends = false;         // what another task sends, or has
        bool only_takes = false, uses_values = false; // as of waiting_kernel
        kernel_pointer kernel{};
        std::int64_t edge = -1; // by which it goes
        std::string name{}, op{}, row{}, task{},
            place{}; // for messages and traces; the place is "name (op) on device", of a segment that of its last
        std::vector<tensor_type> taken{}; // the types of its inputs, where some sizes are open until they have come
        std::vector<node_output> outputs{};
        std::vector<tensor_type> given{}; // their types, with sizes open where it will tell
        std::size_t sizes_from = 0;       // in last_sizes_, where those with open sizes follow each other
    };
    void make_units(program&& placed);
    void number_turns();
    std::vector<int> units_in_order() const;
    void share_arenas();
    void find_handed_on(const program& placed);
    program program_of(const program& whole, const step_unit& segment, const std::vector<bool>& lends,
                       const late_types& late) const;
    // `sizes`: by slot, of what the ops that wait gave.
    std::shared_ptr<segment> segment_of(unit& u, const std::vector<extents>& sizes);
    // That what an op that waits is given suits its rule, in sizes that came with it.
    static void check_taken(const unit& u, const std::vector<any_array>& values);
    // That the arrays which an op that waits gave are of their types; what named sizes are thereby.
    static void check_given(const unit& u, const std::vector<any_array>& given, size_bindings& sizes);
    void note_sizes(const unit& u, const std::vector<any_array>& given) noexcept;

    std::shared_ptr<segment> only_;
    const plan_options options_;
    program whole_;                             // kept where sizes are known late
    segment_programs segments_;                 // of that
    std::shared_ptr<prepared_memory> prepared_; // of the kernels of units
    std::vector<unit> units_;
    std::vector<int> waits_; // units that are ops
    bool takes_ = false;     // some of them what can be given back
    bool at_once_ = false;   // all units are, in an order in which they may begin: a step may end as it begins
    int slots_ = 0;
    std::vector<int> given_by_; // by slot: the unit
    std::vector<int> slot_of_;  // by value
    std::vector<source> fetches_;
    std::shared_ptr<shared_arenas> arenas_; // of its segments, but those that use streams
    std::size_t at_a_time_ = 0;             // segments that may run, at most
    std::size_t handed_on_ = 0; // bytes of what units give each other that is there at a time, where it is known
    std::vector<tensor_type> feed_types_;
    size_bindings sizes_;       // of what is fed
    bool sizes_matter_ = false; // some op that waits tells sizes
    mutable std::mutex guard_;
    std::uint64_t requests_ = 0; // for plans of late sizes; under the guard
    given_sizes last_sizes_;     // an entry for each, open until a step has told it; under the guard
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/subgraph.ipp>
#endif
