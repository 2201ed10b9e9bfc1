#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <tenon/concurrency/spin_lock.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/op/device_loop.hpp>
#include <tenon/op/step.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/run/frame.hpp>

/// Runs an executable in a frame, one step at a time.

namespace tenon::runtime {

/// What a run is given besides its feeds.
struct run_environment {
    const tenon::step* in = nullptr; ///< the step that it is part of
    trace* traced = nullptr;
    cost_measurements* measured = nullptr; ///< of plans that were made to be
    fetch_taker* taker = nullptr;
    std::uint64_t traced_as = 0; ///< the step's number in the trace, where parts of it run on several tasks

    thread_pool* pool() const noexcept { return in->pool; }
    bool limited() const noexcept { return in->limited(); }
    bool stoppable() const noexcept { return in->limited() || in->may_be_stopped; }
};

/// Who starts a run that holds no thread while it waits. Called on any thread, which holds no lock of the run.
class run_owner {
public:
    /// There is something to do: some thread is to call work(), once for each call of this, perhaps from within it.
    virtual void go_on() noexcept = 0;
    /// It has ended: the last that the run does. nullptr: well.
    virtual void ended(std::exception_ptr failure) noexcept = 0;

protected:
    ~run_owner() = default;
};

/// Runs the nodes of an executable's graph, phase by phase (README.md): a node is done by the thread that takes it, or given to a stream, which
/// completes it later. Where a phase has no graph its operations are done one after another.
///
/// It has no thread of its own. Threads come to work(), do what there is and leave; what completes later makes things
/// ready and calls a thread where there is none, and runs nothing itself. The last thread to leave a phase that is over goes on with the
/// next. Steps that use the same streams cannot block each other: an event is always recorded before anybody is told to wait for it.
/// Nothing of the frame is touched by a stream once its last event is told.
class executor final : private step_monitor {
public:
    executor(const executable& p, shared_arenas* shared);
    executor(executor&&) = delete;

    frame& memory() noexcept { return f_; }
    /// To its end. This thread works for the host and for streams, and sleeps when it can do neither.
    void run(const any_array* const* feeds, any_array* fetched, const run_environment& e);
    /// As of a segment's lease.
    void start(const any_array* const* feeds, any_array* fetched, const run_environment& e, run_owner& owner);
    void work();
    void stop() noexcept;
    bool expire() noexcept;
    bool is_told_to_end() const noexcept { return !endless_.empty(); }

    std::unique_ptr<executor> next_idle{}; // in a list of those that no step uses

private:
    using operation = executable::operation;
    using gate = executable::gate;
    using locked = std::unique_lock<tenon::detail::spin_lock>;
    struct report final : completion {
        void completed(std::exception_ptr why) noexcept override { of->reached(node, std::move(why)); }
        executor* of = nullptr;
        int node = -1; // or the end of a stream
    };
    struct turn final : completion {
        explicit turn(executor& e) : of(e) {}
        void completed(std::exception_ptr) noexcept override { of.variables_changed(); }
        executor& of;
    };

    // step_monitor: called by who works for a stream, which may hold locks of the device
    bool wanted(int command) noexcept override { return goes_on(command, p_.op(command).writes); }
    std::chrono::steady_clock::time_point deadline() const noexcept override { return e_.in->deadline; }
    void ended_early(int command) noexcept override;
    void ended(int command, std::int64_t begin, std::int64_t end) noexcept override;
    void failed(int command, std::exception_ptr why) noexcept override;
    bool is_timed() const noexcept override { return e_.traced || e_.measured; }
    const char* name_of(int command) const noexcept override { return p_.op(command).origin->name.c_str(); }

    // The step.
    void begin(const run_environment& e, run_owner* owner) noexcept;
    bool go_on(bool is_caller);
    bool enter(gate g);
    template <class Try> bool hold(const Try& attempt);
    void end(std::exception_ptr why);
    void check_sources(const any_array* const* feeds) const;
    bool hold_variables(bool read, bool updates);
    void check_first() const;
    void commit(const tenon::step& in, std::size_t s) const;
    void variables_changed() noexcept;
    bool stop_asking(const std::exception_ptr& why, locked& lock) noexcept;
    void tell_to_end(bool at_deadline) noexcept;
    std::exception_ptr saying_what_was_updated(const std::exception_ptr& why) const noexcept;
    // More than it takes to wake threads, or anybody to notice; loops that nobody knows the length of look for themselves whether they are to end.
    bool takes_long() const noexcept {
        constexpr double noticed = 1e5; // ns
        return p_.own_cost > noticed;
    }
    thread_pool* pool_worth_waking(const run_environment& e) const noexcept {
        return takes_long() ? e.pool() : nullptr;
    }

    // One operation.
    void run_in_order(const run_environment& e, std::size_t first, std::size_t last);
    void run_operation(std::size_t s, const run_environment& e);
    void run_rows(const row_run& rows, const run_environment& e, std::size_t& s);
    void record(std::size_t s, const run_environment& e, std::int64_t begin, std::int64_t end) const;
    void check_numerics(std::size_t s) const;

    // A phase whose nodes are ready in an order of their own.
    bool has_graph(const executable::phase& of, const run_environment& e) const noexcept {
        const std::size_t nodes = of.last - of.first;
        return nodes > 0 && (p_.has_streams() || (p_.side_by_side > 1 && nodes > 1 && e.pool()));
    }
    bool is_on_host(int node) const noexcept { return node < all_streams() && p_.op(node).line < 0; }
    void open(const executable::phase& of) noexcept;
    bool work_in_graph(bool is_caller);
    void run_node(int node) noexcept;
    void release(std::span<const int> next) noexcept;
    void make_ready(int node) noexcept;
    int take_ready() noexcept;
    int costly_from() const noexcept { return all_streams() + 1; } // from where on places in ready_ are of costly nodes
    void make_possible(int node) noexcept;
    static void put(std::vector<int>& heap, int node) noexcept;
    static int take(std::vector<int>& heap) noexcept;
    bool may_give() const noexcept;
    bool has_work() const noexcept { return !ready_.empty() || may_give(); }
    bool is_over() const noexcept;
    int threads_wanted() noexcept;
    void call_threads(int count, locked& lock) noexcept;
    void wait_for_call();
    void reached(int node, std::exception_ptr why) noexcept;
    void check(const std::vector<int>& operations) noexcept;
    bool may_be_given(int command) noexcept;
    bool goes_on(int command, bool writes) noexcept;
    std::exception_ptr failure() const noexcept;
    bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
    int all_streams() const noexcept { return static_cast<int>(p_.size()); } // the node that stands for all of theirs

    // Streams.
    void give(locked& lock);
    void give_operation(int s) noexcept;
    void give_all() noexcept;
    bool give_recorded() noexcept;
    void give_parts(const frame::recorded_parts& recorded, std::size_t kernels);
    void give_sum(int number, device_event* before) noexcept;
    void require_working_devices() noexcept;
    void record_end(std::size_t line, report& then) noexcept;
    void record_event(const worker& by, device_event& e, report* then) noexcept;

    const executable& p_;
    frame f_;
    std::vector<report> reports_; // by node
    report end_report_;
    turn turn_{*this};
    run_environment e_;
    run_owner* owner_ = nullptr; // nullptr: a caller waits
    unsigned denormals_ = 0;
    std::thread::id caller_{};
    // Of the one thread that there is between phases.
    std::size_t phase_ = 0;
    bool is_open_ = false;               // it is a phase with a graph, whose nodes threads run
    bool all_written_ = false;           // variables
    std::exception_ptr refused_;         // why they are not held
    std::exception_ptr ended_with_;      // the caller's
    std::atomic<bool> called_{false};    // the caller, who works for streams or the pool
    std::atomic<int> awaited_events_{0}; // events that will be told

    mutable std::mutex errors_; // of what follows; no other lock is taken under it
    std::atomic<bool> stopped_{false};
    std::exception_ptr first_;
    static constexpr int nowhere = -1;
    int where_ = nowhere;

    // Of what follows; under it no kernel is run, and nobody is called but a device or a pool, to wake its threads.
    tenon::detail::spin_lock guard_;
    const run_graph* graph_ = nullptr;
    int end_ = 0;                     // of the phase's nodes
    std::vector<int> left_;           // by node: edges to it from those that have not ended, or not been given
    std::vector<int> ready_;          // a heap: of the host, and of streams, to be checked; make_ready()
    std::vector<int> givable_;        // a heap: of streams
    std::vector<char> used_, closed_; // by stream: something was given; its last event was. Of who gives
    std::vector<int> batch_;          // of who gives
    bool staged_ = false;             // it was recorded: the host copies what it fetched
    bool has_told_ = false;           // kernels have told their device what they tell
    int on_host_ = 0;                 // nodes that have not ended
    int costly_ = 0;                  // of those that are ready
    int workers_ = 0;                 // threads in work(), or called
    int coming_ = 0;                  // of those, not there yet
    bool giving_ = false;             // one of them gives operations to streams
    bool caller_idle_ = false;
    bool asking_ = false;  // it waits for a variable
    bool changed_ = false; // which was told before that was known

    const tenon::step* endless_in_ = nullptr; // the step, until it has ended
    std::vector<std::pair<const device_loop*, std::byte*>>
        endless_; // kernels that a device may be told to end, and where
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/executor.ipp>
#endif
