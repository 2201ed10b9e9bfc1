#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include <tenon/runtime/device/device.hpp>

/// Streams that threads of this process work on: of the pool, where there is much to do or nobody waits, and whoever waits. So
/// a small step is done by the thread that asked for it, without waking another.

namespace tenon {

class thread_pool;

namespace detail {

class simulated_streams;

/// What the simulated devices of one session share. Its guard owns all streams, events and commands that were given. To give a kernel or a
/// copy takes memory; to record an event takes none, so that who is told the end of a stream is told it whatever happens.
class simulated_machine : public std::enable_shared_from_this<simulated_machine> {
public:
    using clock = std::chrono::steady_clock;

    explicit simulated_machine(thread_pool* pool) : pool_(pool) {}
    ~simulated_machine();
    simulated_machine(simulated_machine&&) = delete;

    struct event;
    struct stream;
    struct command {
        enum class kind { launch, copy, record, wait } what;
        stream* on = nullptr;
        tenon::kernel* kernel = nullptr;
        const kernel_run* run = nullptr;
        void* to = nullptr;
        const void* from = nullptr;
        std::size_t bytes = 0;
        event* point = nullptr;
        completion* then = nullptr;
        step_monitor* monitor = nullptr;
        int number = 0;
        double cost = 0;         // ns of a thread
        double duration = 0;     // ns until it counts as done, from its beginning
        unsigned denormals = 0;  // how the one who gave it treats them
        command* next = nullptr; // of its stream
        bool owned = false;      // by the stream, which ends it; else it is an event's, or a recording's
    };
    struct stream {
        command *first = nullptr, *last = nullptr;
        enum class state { idle, ready, running, blocked, sleeping } is = state::idle;
        stream* next = nullptr;  // of those that are ready, or blocked by one event
        double cost = 0;         // of its commands
        std::int64_t began = 0;  // of the copy that it sleeps for
        clock::time_point due{}; // when it wakes
        bool offered = false;    // to the pool, since it became ready
        bool left = false;       // to others, who gave it its commands: until it is idle
    };
    struct event final : device_event {
        bool reached = true;
        stream* waiting = nullptr;
        command mark{}; // what records it
    };

    static constexpr int count = device_streams::count;

    /// Those of a device. They live as long as this, since threads may still look at one that has just ended a step. `timed`: copies take
    /// time.
    stream* add_streams(bool timed);
    /// What is not owned stays until it was done, or, of an event that is told, is told.
    void give(std::span<command> all) noexcept;
    void give(std::unique_ptr<command> c) noexcept;
    void work_until(function_ref<bool()> done);
    void wake() noexcept;
    void leave(std::span<stream, count> streams);
    void ask_again() noexcept;

private:
    void add(stream& l, command& c) noexcept;
    void make_ready(stream& l) noexcept;
    static constexpr double worth_a_task = 2e4; // ns
    void offer(stream& l, bool others_are_busy = false) noexcept;
    void work();
    using locked = std::unique_lock<std::mutex>;
    void drain(stream& l, locked& held, const function_ref<bool()>* enough = nullptr);
    void work_on_what_is_left(locked& held);
    bool perform(stream& l, command* c, locked& held);
    static clock::time_point end_of(const stream& l, const command& c);
    stream* sleeping() noexcept;
    void tell_waiting();
    void run_clock();

    thread_pool* const pool_;
    std::mutex guard_;
    std::list<std::array<stream, count>> streams_;
    std::condition_variable changed_, alarm_;
    stream* ready_ = nullptr; // in the order in which they became so
    std::atomic<int> ready_count_{0};
    int waiting_ = 0;   // threads in work_until()
    std::thread clock_; // wakes streams whose copies have taken their time; there with the first such streams
    bool ending_ = false;
    const std::shared_ptr<bool> ended_by_clock_ = std::make_shared<bool>(false); // that thread has ended this object
};

/// The streams of one simulated device, whose copies take the time that its link asks for.
class simulated_streams final : public device_streams {
public:
    /// bandwidth in bytes a second, 0: without end; latency in seconds.
    simulated_streams(std::shared_ptr<simulated_machine> m, double bandwidth, double latency) :
        machine_(std::move(m)),
        bandwidth_(bandwidth),
        latency_(latency),
        streams_(machine_->add_streams(bandwidth > 0 || latency > 0)) {}

    void launch(stream l, kernel& k, const kernel_run& r, step_monitor& m, int number) override;
    void copy(stream l, void* to, const void* from, std::size_t bytes, step_monitor& m, int number) override;
    std::unique_ptr<device_event> make_event() override { return std::make_unique<simulated_machine::event>(); }
    void record(stream l, device_event& e, completion* then) override;
    void wait(stream l, device_event& e) override;
    void work_until(function_ref<bool()> done) override { machine_->work_until(done); }
    void wake() noexcept override { machine_->wake(); }
    void flush() override { machine_->leave(std::span<simulated_machine::stream, count>(streams_, count)); }
    void ask_again() noexcept override { machine_->ask_again(); }
    std::unique_ptr<stream_recorder> begin_recording(std::span<device_streams* const> all) override;
    void replay(recorded_work& w, const step& in, step_monitor& m) override;

private:
    friend class simulated_recorder;
    using command = simulated_machine::command;
    command of_launch(stream l, kernel& k, const kernel_run& r, int number) const;
    command of_copy(stream l, void* to, const void* from, std::size_t bytes, int number) const;
    simulated_machine::stream* on(stream l) const { return streams_ + l; }
    void give(const command& c) {
        auto own = std::make_unique<command>(c);
        own->owned = true;
        machine_->give(std::move(own));
    }

    std::shared_ptr<simulated_machine> machine_;
    const double bandwidth_, latency_;
    simulated_machine::stream* const streams_;
};

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/device/simulated_streams.ipp>
#endif
