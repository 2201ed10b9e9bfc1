#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/runtime/run/executable.hpp>
#include <tenon/runtime/run/executor.hpp>
#include <tenon/runtime/run/shared_arenas.hpp>

/// A segment as steps use it: its executable, and executors with their frames, one for each step in flight.

namespace tenon::runtime {

class segment {
public:
    /// Of a program that was pruned and placed. Throws what making kernels throws, and resource_exhausted_error when the
    /// step needs more than a device's limit leaves beside the variables.
    segment(program&& placed, const plan_options& o) : executable_(std::move(placed), o) {}
    ~segment();
    segment(segment&&) = delete;

    /// From here on, before its first step: its frames have arenas for as long as they are taken only. True where it can, which streams
    /// cannot, whose work is recorded with addresses.
    bool share(std::shared_ptr<shared_arenas> with);
    bool shares() const noexcept { return shared_ != nullptr; }

    /// A segment and what one step in flight needs of it; both stay while it lives.
    class lease {
    public:
        explicit lease(std::shared_ptr<segment> p) : segment_(std::move(p)), runs_(segment_->take()) {}
        ~lease() { segment_->give(std::move(runs_)); }
        lease(lease&&) = delete;
        segment* operator->() const noexcept { return segment_.get(); }
        /// Runs a step. feeds[i] has the type of request::feed_types[i]; fetched[i] is made here. One step at a time;
        /// other leases of the segment may run at the same time.
        void run(const any_array* const* feeds, any_array* fetched, const run_environment& e) const {
            runs_->run(feeds, fetched, e);
        }
        /// Begins a step, and does what can be done now; what it waits for, a variable or a stream, holds no thread. What
        /// `e` points to, feeds and fetched stay until the owner is told that it has ended, perhaps from within this. What is thrown here
        /// is the step's failure, and nothing was begun.
        void start(const any_array* const* feeds, any_array* fetched, const run_environment& e,
                   run_owner& owner) const {
            runs_->start(feeds, fetched, e, owner);
        }
        void work() const { runs_->work(); }
        /// Of a step that was started and is stopped: it finds that out at once, and not just when something else happens. Any
        /// thread; where it has ended nothing happens.
        void stop() const noexcept { runs_->stop(); }
        /// The same where its deadline has come; false: it computes.
        bool expire() const noexcept { return runs_->expire(); }
        /// Whether a device is to be told of it: else whoever computes sees that.
        bool is_told_to_end() const noexcept { return runs_->is_told_to_end(); }

    private:
        std::shared_ptr<segment> segment_;
        std::unique_ptr<executor> runs_;
    };

    bool accepts(const any_array* const* feeds) const { return executable_.accepts(feeds); }
    bool is_measured() const noexcept { return executable_.measured; }
    /// That of plan_options; the resources it uses are those of then.
    std::uint64_t epoch() const noexcept { return executable_.epoch; }
    const plan_summary& summary() const noexcept { return executable_.summary; }
    std::vector<std::string> order() const; ///< "name (op)"
    recording_counts recordings() const noexcept {
        return executable_.at_once ? executable_.at_once->recordings.now() : recording_counts{};
    }
    /// Bytes of the memory that is kept for further steps and for those in flight.
    std::size_t kept_bytes() const noexcept {
        const plan_summary& s = summary();
        const std::size_t arenas = // those that are shared are others', too
            shared_ ? 0 : executors_.load(std::memory_order_relaxed) * s.arena_bytes;
        return arenas + s.constant_bytes + s.prepared_bytes;
    }

private:
    std::unique_ptr<executor> take();
    void give(std::unique_ptr<executor> e) noexcept;

    const executable executable_;
    std::shared_ptr<shared_arenas> shared_; // nullptr: each frame has its own
    std::atomic<std::size_t> executors_{0}; // that there are
    std::atomic<executor*> spare_{nullptr}; // the one that is nearly always enough
    std::mutex guard_;                      // of the list of further ones
    std::unique_ptr<executor> spares_;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/segment.ipp>
#endif
