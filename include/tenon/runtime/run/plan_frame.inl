#pragma once

// A part of run/plan.ipp: a step of a plan in flight, its memory, and what runs it where it waits for something.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <tenon/concurrency/spin_lock.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/resources/held_variables.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::runtime {

// Runs the operations of a step as they become possible. Operations of streams are given to each in the plan's order, as soon
// as what they wait for on the host has ended, and what they wait for on other streams was given: an event is always recorded
// before anybody is told to wait for it, so steps that use the same streams cannot block each other. Where nothing that they do waits for
// the host in the middle, they are given all at once, which may be a recording. Operations of the host
// run side by side as soon as what they wait for has ended, which streams tell by their events.
//
// It has no thread of its own. Threads come to work(), do what there is and leave; an event that is reached makes things
// ready and calls a thread where there is none, and runs nothing itself. The last thread to leave a step that is over ends it.
// Nothing of the frame is touched by a stream once its last event is told.
class plan::executor final : private step_monitor {
public:
    executor(plan& p, frame& f);
    /// A step over streams, to its end. This thread works for the host and for streams, and sleeps when it can do neither.
    void run(const run_environment& e);
    void start(const run_environment& e, run_owner& owner);
    void work();
    void stop() noexcept;
    bool expire() noexcept;

private:
    using locked = std::unique_lock<tenon::detail::spin_lock>;
    struct report final : completion {
        void completed(std::exception_ptr why) noexcept override { of->reached(operation, std::move(why)); }
        executor* of = nullptr;
        int operation = -1; // or the end of a stream
    };
    struct turn final : completion {
        explicit turn(executor& e) : of(e) {}
        void completed(std::exception_ptr) noexcept override { of.variables_changed(); }
        executor& of;
    };

    // step_monitor: called by who works for a stream, which may hold locks of the device
    bool wanted(int command) noexcept override;
    std::chrono::steady_clock::time_point deadline() const noexcept override { return e_.in->deadline; }
    void ended(int command, std::int64_t begin, std::int64_t end) noexcept override;
    void failed(int command, std::exception_ptr why) noexcept override;
    bool is_timed() const noexcept override { return e_.traced || e_.measured; }
    const char* name_of(int command) const noexcept override {
        return p_.operations_[static_cast<std::size_t>(command)].origin->name.c_str();
    }

    bool may_be_given(int command) noexcept;
    bool goes_on(int command, bool writes) noexcept;
    void begin(const run_environment& e, run_owner* owner);
    template <class Attempt> bool hold(const Attempt& attempt);
    void variables_changed() noexcept;
    bool stop_asking(const std::exception_ptr& why, locked& lock) noexcept;
    void work_in_order();
    void work_on_streams(locked& lock);
    void run_operation(std::size_t s) noexcept;
    void leave(locked& lock, bool is_caller) noexcept;
    void reached(int operation, std::exception_ptr why) noexcept;
    void check(const std::vector<int>& operations) noexcept;
    void make_ready(int s);
    void release(const std::vector<int>& next);
    void release_host(const std::vector<int>& next);
    void go_on_after(std::size_t s);
    int take_ready();
    bool has_work() noexcept;
    bool is_over() noexcept;
    int next_to_give() noexcept;
    bool may_give() noexcept;
    void give(locked& lock);
    void give_some(locked& lock);
    void give_all(locked& lock);
    bool give_recorded() noexcept;
    void give_operation(std::size_t s) noexcept;
    void record(const line& l, device_event& e, report* told) noexcept;
    int after_streams() const {
        return static_cast<int>(p_.operations_.size());
    } // what is done when all of them have ended
    void end_streams() noexcept;
    int threads_wanted() noexcept;
    void call_threads(int count, locked& lock) noexcept;
    void end();
    std::exception_ptr failure() const noexcept;
    bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
    device_streams& streams_of(const line& l) const {
        return *p_.devices_[static_cast<std::size_t>(l.by.device)]->streams();
    }
    static device_streams::stream stream_of(const line& l) { return static_cast<device_streams::stream>(l.by.stream); }

    plan& p_;
    frame& f_;
    std::vector<report> reports_;
    report end_report_;
    turn turn_{*this};
    run_environment e_;
    run_owner* owner_ = nullptr; // nullptr: a caller waits
    unsigned denormals_ = 0;
    bool holds_variables_ = false; // where there are any; of the one thread that there is until then
    std::exception_ptr refused_;   // why it does not
    std::thread::id caller_{};
    bool has_ended_ = false; // the caller's, and this
    std::exception_ptr ended_with_;
    std::atomic<bool> called_{false}; // the caller, who works for streams
    std::atomic<int> untold_{0};      // events that will be told

    mutable std::mutex errors_; // of what follows; no other lock is taken under it
    std::atomic<bool> stopped_{false};
    std::exception_ptr first_;
    static constexpr int nowhere = -1;
    int where_ = nowhere;

    tenon::detail::spin_lock
        guard_; // of what follows; under it no kernel is run, and nobody is called but a device, to wake its threads
    std::vector<int> left_;           // by operation: those before it that have not ended, or not been given
    std::vector<int> ready_;          // a heap: of the host, and of streams, to be checked
    std::size_t next_ = 0;            // of the plan's operations on streams: those before it have been given
    std::vector<std::size_t> given_;  // by stream: how many of its operations
    std::vector<char> used_, closed_; // by stream: something was given; its last event was. Of who gives
    std::vector<int> batch_;          // of who gives
    bool at_once_ = false;            // streams are given all they do at once
    int before_streams_ = 0;          // then: operations of the host that have not ended and are before that
    bool all_given_ = false, all_ended_ = false;
    bool staged_ = false;   // it was recorded: the host copies what it fetched
    bool has_told_ = false; // kernels have told their device what they tell
    int on_host_ = 0;       // operations that have not ended
    int costly_ = 0;        // of those that are ready
    int workers_ = 0;       // threads in work(), or called
    int coming_ = 0;        // of those, not there yet
    bool giving_ = false;   // one of them gives operations to streams
    bool caller_idle_ = false;
    bool asking_ = false;  // it waits for a variable
    bool changed_ = false; // which was told before that was known
};

// The memory of one step in flight, with its pointers.
struct plan::frame {
    explicit frame(std::span<const variable_use> uses) : variables(uses), pointed(uses.size()) {}

    std::vector<device_memory> arenas;           // by device
    std::unique_ptr<shared_arenas::set> taken{}; // or those, of a frame that is taken
    std::vector<const void*> arenas_before{};    // where its pointers lead
    std::map<int, any_array> texts; // strings between nodes, by value: objects, which an arena's bytes are not
    std::vector<const void*> in;
    std::vector<void*> out;
    std::vector<kernel_run> runs;
    any_array* fetched = nullptr;
    std::vector<std::unique_ptr<device_event>> events; // by operation: of those that are awaited
    std::vector<std::unique_ptr<device_event>> ends;   // by stream that is used
    std::vector<std::shared_ptr<std::byte>> told;      // by operation: what its kernel tells its device
    held_variables variables;
    std::vector<std::array<const void*, 3>> pointed; // by variable: where the pointers to its memories point
    void set_updated(int variable) noexcept { variables.set_written(static_cast<std::size_t>(variable)); }
    // Of steps whose streams' work is recorded:
    struct recording {
        std::vector<const void*> pointers; // of variables
        std::unique_ptr<recorded_work> work;
    };
    std::vector<recording> recordings; // those used last first
    std::vector<const void*> recorded_pointers;
    std::shared_ptr<std::byte> staged;
    int recorded = 0, given_again = 0;
    bool has_run = false; // well

    bool before_updates = true;          // of a step with variables, where it waits
    std::unique_ptr<executor> in_flight; // of steps that use streams or were started
    frame* next = nullptr;
};

} // namespace tenon::runtime
