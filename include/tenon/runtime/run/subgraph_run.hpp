#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <tenon/core/array/memory_payer.hpp>
#include <tenon/runtime/run/subgraph.hpp>

/// A step that waits, in flight.

namespace tenon::runtime {

class subgraph_run;

/// The steps in flight that can be stopped from outside. Thread-safe.
class steps_in_flight {
public:
    steps_in_flight() = default;
    steps_in_flight(steps_in_flight&&) = delete;
    /// Stops all; `why` is what they fail with. Returns when all that wait have been told. Steps that begin later fail with
    /// `later`.
    void close(const std::exception_ptr& why, const std::exception_ptr& later) noexcept;

private:
    friend class subgraph_run;
    std::mutex guard_; // of what follows
    subgraph_run* first_ = nullptr;
    std::uint64_t begun_ = 0; // steps, ever
    std::exception_ptr closed_;
    std::atomic<bool> is_closed_{false}; // the same, for who looks without it
};

/// An op that waits, in a step in flight.
struct awaited {
    const node* origin = nullptr;
    std::string place; ///< "recv (receive) on /device:CPU:0"
    std::string what;  ///< wait::awaited()
    double seconds = 0;
    bool receives = false; ///< from another subgraph of the step
};

/// What one step of a subgraph needs, and then another one. Segments run on the caller's thread, or, where there is none,
/// on the pool's; what becomes ready while one runs is offered to others. No thread is held by what waits: ops, and segments that
/// wait for streams or variables. Everything but
/// the arrays is under the step's own lock, under which no kernel, op or pool is called; the arrays in a slot belong to the
/// unit that gives them until it has ended, and then to those that take them.
class subgraph_run {
public:
    /// Of a subgraph that is not one segment only, and outlives it.
    explicit subgraph_run(subgraph& p);
    subgraph_run(subgraph_run&&) = delete;

    /// A step on this thread, which returns when all of it has ended. feeds[i] fits request::feed_types[i]. Whoever runs or starts it
    /// calls expire() when its time has come.
    void run(const any_array* const* feeds, const run_environment& e, steps_in_flight& among);
    /// A step on the threads of `pool`: returns at once. What is fed stays until ended() is called, once, by any thread; it
    /// may take(), and end this object.
    void start(const any_array* const* feeds, const run_environment& e, steps_in_flight& among, thread_pool& pool,
               std::function<void()> ended);
    /// Of a step that has ended, until it is settled: whether it took what can be given back.
    bool took() const noexcept { return last_taken_ != nullptr; }
    /// Of a step that has ended, once: what it took from queues and has not used is given back, where it has `failed`, or the step
    /// of which it is a part. `others_changed`: other subgraphs of it have, or may have, changed something by what this one sent.
    void settle(bool failed, bool others_changed) noexcept;
    /// Then: its results, which are made here, or what it throws.
    void take(any_array* fetched);
    /// Or neither.
    void forget() noexcept;
    /// Why a step failed that has ended; nullptr: it did not.
    std::exception_ptr failure() const noexcept { return undone_ > 0 ? first_ : nullptr; }
    /// Whether a step that was settled has changed variables or queues, however it ended; until then: by more than what it took.
    bool has_changed() const noexcept { return changes_ > 0; }
    /// Whether it has, and failed before it had changed all that it was to.
    bool changed_in_part() const noexcept;
    /// Whether it waits for something else than other subgraphs.
    bool waits_itself();
    std::vector<awaited> waits();
    /// Nothing further is begun, what waits is taken back, and the step fails with `why`, unless it has failed before or all
    /// of it is done; or has begun to update variables: then it goes on, and fails only if it waits after that, saying what it has
    /// updated. Any thread; of a step that has ended nothing happens.
    void stop(const std::exception_ptr& why) noexcept;
    /// From here on a stop() holds for the next step too, though it has not begun.
    void arm() noexcept;
    /// Its deadline has come: stops it, saying what it waits for. False: it has ended.
    bool expire() noexcept;
    /// The same, where other subgraphs say what the step was waiting for: what they send may still come, and it fails if it waits for
    /// something else.
    void expire_later() noexcept;
    /// What waited then, of a step that has ended.
    const std::vector<const node*>& expired() const noexcept { return expired_; }

private:
    friend class steps_in_flight;
    struct waiter final : completion {
        enum class state { idle, begun, ended };
        // Of run_at_once(): its thread is in start(); it was done by the end of that; or not. Otherwise: in_earnest.
        enum class start { in_earnest, starting, done };
        void completed(std::exception_ptr why) noexcept override {
            if (!is_done_at_once(why)) of->completed(*this, std::move(why));
        }
        bool is_done_at_once(std::exception_ptr& why) noexcept;
        subgraph_run* of = nullptr;
        int unit = 0;
        std::unique_ptr<wait> op{};
        std::atomic<start> at_once{start::in_earnest};
        std::exception_ptr failure{}; // of one that is done at once
        state now = state::idle;      // this and what follows is under the guard
        bool well = false;            // it has ended so
        waiter* taken_before{};       // of those that took what can be given back
        bool waits = false;           // start() has returned, and it has not ended
        std::thread::id starter{};
        std::int64_t began = 0;                 // of one that is traced
        std::uint64_t bytes = 0;                // that it was given, of the same
        tenon::step::clock::time_point since{}; // of what waits
    };
    // Its arrays are kept so that a step need not make them.
    struct segment_run final : run_owner, fetch_taker {
        void go_on() noexcept override { of->go_on(unit); }
        void ended(std::exception_ptr failure) noexcept override { of->ended(*this, std::move(failure)); }
        void fetched(std::size_t fetch) noexcept override { of->fetched(*this, fetch); }
        subgraph_run* of = nullptr;
        int unit = 0;
        std::vector<const any_array*> fed{};
        std::vector<any_array> given{};
        std::optional<segment::lease> run{};
        bool begun = false;        // this and what follows is under the guard
        bool ran = false;          // it was begun, and perhaps has ended
        bool well = false;         // it has ended so
        std::vector<char> taken{}; // by what it gives: it was taken before the end
        std::thread::id starter{};
    };
    using locked = std::unique_lock<std::mutex>;

    void renew(const any_array* const* feeds, const run_environment& e);
    waiter* run_at_once() noexcept;
    locked begin(steps_in_flight& among, waiter* begun = nullptr);
    void leave();
    void work(locked& lock);
    void start_segment(segment_run& s, locked& lock) noexcept;
    void go_on(int unit) noexcept;
    void ended(segment_run& s, std::exception_ptr failure) noexcept;
    void fetched(segment_run& s, std::size_t fetch) noexcept;
    void start_waits(bool all, locked& lock) noexcept;
    void flush(bool all, locked& lock) noexcept;
    void find_worker(bool here, locked& lock);
    void start_wait(waiter& w, locked& lock) noexcept;
    void start_op(waiter& w);
    const any_array& found(const subgraph::source& s) const;
    void completed(waiter& w, std::exception_ptr failure) noexcept;
    std::exception_ptr end_wait(waiter& w, std::exception_ptr failure) noexcept;
    void fail(std::exception_ptr why, locked& lock) noexcept;
    void end_early(const std::exception_ptr& why, locked& lock) noexcept;
    bool waits_for_any() const noexcept;
    void find_used(bool others_changed) noexcept;
    void say_what_was_changed() noexcept;
    void stop_what_is_begun(locked& lock) noexcept;
    bool expire_segments(locked& lock) noexcept;
    bool has_work() const noexcept {
        return !ready_.empty() || !going_on_.empty() || (!to_start_.empty() && !starting_);
    }
    void record(const waiter& w, const subgraph::unit& unit);
    void make_ready(int unit);
    void release(int unit, const segment_run* s = nullptr);
    void count_end(int unit) noexcept;
    void note_change(int unit) noexcept { changes_ += subgraph_.units_[static_cast<std::size_t>(unit)].changes; }
    void one_less(locked& lock) noexcept;
    void offer(locked& lock);
    std::exception_ptr placed(const std::exception_ptr& what, int unit) const noexcept;

    subgraph& subgraph_;
    tenon::step step_;
    run_environment environment_;
    unsigned denormals_ = 0;
    memory_payer* payer_ = nullptr; // of who began it
    const any_array* const* feeds_ = nullptr;
    std::vector<any_array> slots_;
    std::vector<extents> last_sizes_; // by slot, of what ops that wait gave: the array may have been taken
    std::vector<waiter> waiters_;
    std::vector<segment_run> segments_;
    std::vector<int> place_; // by unit: its waiter, or its segment

    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::vector<int> left_;     // by unit: those before it that have not ended
    std::vector<int> ready_;    // segments
    std::vector<int> going_on_; // segments that have begun, and want a thread again
    std::vector<int> to_start_; // ops that wait and are ready
    bool starting_ = false;     // a thread starts them, one after another
    bool unsent_ = false;       // what was sent may still be kept for what comes soon
    int undone_ = 0;            // units that have not ended well
    int active_ = 0;            // units that are ready, run or wait, and threads that use the step besides
    int stopping_ = 0;          // threads that stop what has begun: no frame is given up meanwhile
    int runners_ = 0;           // threads in work(), or about to be
    bool coming_ = false;       // one of the pool's is about to be
    bool caller_ = false;       // one of them is the caller's
    bool asleep_ = false;       // and waits
    bool armed_ = false;
    int changes_ = 0; // units that change what outlives the step, have ended well, and were not taken back
    thread_pool* background_ = nullptr;
    std::exception_ptr first_;
    std::exception_ptr too_late_; // why it was to end when it had begun to update: for what waits after that
    waiter* last_taken_ = nullptr;
    int failed_unit_ = -1;            // a segment that failed
    bool failed_over_values_ = false; // and had used what it was given: it was not for want of memory
    std::vector<char> used_;          // by unit: what it gave
    std::vector<const node*> expired_;
    size_bindings sizes_;
    std::function<void()> ended_;

    steps_in_flight* among_ = nullptr;
    subgraph_run *before_ = nullptr, *after_ = nullptr; // under the guard of among_, as is
    std::uint64_t number_ = 0;                          // the how manyth that began there
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/subgraph_run.ipp>
#endif
