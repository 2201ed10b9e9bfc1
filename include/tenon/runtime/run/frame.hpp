#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <vector>

#include <tenon/resources/held_variables.hpp>
#include <tenon/runtime/run/executable.hpp>
#include <tenon/runtime/run/shared_arenas.hpp>

/// What one run of an executable owns: memory, with the pointers into it.

namespace tenon::runtime {

/// Who takes what a run fetches before the run ends.
class fetch_taker {
public:
    /// It is whole, and is only read from here on. Any thread of the run; not of what streams make.
    virtual void fetched(std::size_t fetch) noexcept = 0;

protected:
    ~fetch_taker() = default;
};

/// One step at a time uses it; it belongs to the thread that runs the step, and, while several do, what an operation writes belongs to the
/// one that runs the operation.
class frame {
public:
    using memory_of = executable::memory_of;

    /// `shared`: its arenas are taken from there, each time anew; nullptr: it has its own.
    frame(const executable& p, shared_arenas* shared);
    ~frame() { give_arenas(); }
    frame(frame&&) = delete;

    /// Of those that are shared, between two steps.
    void take_arenas();
    void give_arenas() noexcept;

    /// Makes what is fetched.
    void patch(const any_array* const* feeds, any_array* fetched);
    /// As soon as the values are held. A variable without one fails its step later.
    void lend_variables(fetch_taker* taker);
    /// After these are held.
    void point(memory_of which);
    /// It has ended, and written into these variables.
    void set_written(const executable::operation& op) noexcept {
        for (const int v : op.changes) variables.set_written(static_cast<std::size_t>(v));
    }

    using recorded_parts =
        std::vector<std::unique_ptr<recorded_work>>; // of streams_work::parts, those that are recorded

    /// What was recorded with the pointers that the step has now: earlier, or now. nullptr: it is given as it is.
    const recorded_parts* recording_of(const tenon::step& in) noexcept;
    /// The recording of this step, which was launched, or why it could not be.
    void replayed() noexcept;
    void failed_to_replay(const std::exception_ptr& why) noexcept;
    /// With a step.
    void ended(bool well) noexcept;
    void stage_in(thread_pool* pool) const;
    void stage_out(thread_pool* pool) const;

    std::vector<const void*> in;
    std::vector<void*> out;
    std::vector<kernel_run> runs;
    any_array* fetched = nullptr;
    std::vector<std::unique_ptr<device_event>>
        events; // by operation: of those that are awaited, and of sums between recordings
    std::vector<std::unique_ptr<device_event>> part_ends; // of recorded parts that sums come after
    std::vector<std::unique_ptr<device_event>> ends;      // by stream that is used
    std::vector<std::shared_ptr<std::byte>> told;         // by operation: what its kernel tells its device
    held_variables variables;

private:
    // Of steps whose streams' work is recorded.
    struct recording {
        std::vector<const void*> pointers; // of variables
        recorded_parts parts;
    };
    void make_arenas();
    void point(memory_of which, std::size_t variable, const void* to);
    void point_into_arenas(bool first);
    const recorded_parts* find_or_record(const tenon::step& in);
    recorded_parts record(const tenon::step& in, recorded_parts other);
    std::unique_ptr<recorded_work> record(const tenon::step& in, const executable::streams_work::part& part,
                                          std::unique_ptr<recorded_work> other);
    void failed_to_record(const std::exception_ptr& why) noexcept;

    const executable& p_;
    shared_arenas* const shared_;
    std::vector<device_memory> arenas_;           // by device
    std::unique_ptr<shared_arenas::set> taken_{}; // or those, of a frame that is taken
    std::vector<const void*> arenas_before_{};    // where its pointers lead
    std::map<int, any_array> texts_; // strings between nodes, by value: objects, which an arena's bytes are not
    std::vector<std::array<const void*, 3>> pointed_; // by variable: where the pointers to its memories point
    std::vector<recording> recordings_;               // those used last first
    std::vector<const void*> recorded_pointers_;
    std::shared_ptr<std::byte> staged_;
    std::uint64_t runs_ = 0, recorded_ = 0, replayed_ = 0; // of what is given at once, the first one aside
    std::uint64_t records_from_ = 0;    // the run before which nothing more is recorded, for a failure
    int failures_ = 0;                  // of recordings
    std::exception_ptr not_recorded_{}; // the first of them, of a step that has not ended
    bool has_run_ = false;              // well
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/frame.ipp>
#endif
