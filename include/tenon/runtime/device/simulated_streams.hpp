#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include <tenon/runtime/device/device.hpp>

/// Streams that threads of this process work on: of the pool, where there is much to do, and whoever waits for an event. So
/// a small step is done by the thread that asked for it, without waking another.

namespace tenon {

class thread_pool;

namespace detail {

class simulated_streams;

/// What the simulated devices of one session share. Its guard owns all streams and events.
class simulated_machine : public std::enable_shared_from_this<simulated_machine> {
public:
    using clock = std::chrono::steady_clock;

    explicit simulated_machine(thread_pool* pool) : pool_(pool) {}
    ~simulated_machine();
    simulated_machine(const simulated_machine&) = delete;
    simulated_machine& operator=(const simulated_machine&) = delete;

    struct event;
    struct command {
        enum class kind { launch, copy, record, wait } what;
        tenon::kernel* kernel = nullptr;
        const kernel_run* run = nullptr;
        void* to = nullptr;
        const void* from = nullptr;
        std::size_t bytes = 0;
        event* point = nullptr;
        step_monitor* monitor = nullptr;
        int number = 0;
        double cost = 0;        // ns of a thread
        double duration = 0;    // ns until it counts as done, from its beginning
        unsigned denormals = 0; // how the one who gave it treats them
    };
    struct stream {
        std::deque<command> commands;
        enum class state { idle, ready, running, blocked, sleeping } is = state::idle;
        double cost = 0;        // of its commands
        std::int64_t began = 0; // of the copy that it sleeps for
        bool offered = false;   // to the pool, since it became ready
    };
    struct event final : device_event {
        explicit event(simulated_machine& m) : machine(m) {}
        void wait() override { machine.wait(*this); }
        simulated_machine& machine;
        std::atomic<bool> reached{true}; // written under the guard
        std::vector<stream*> waiting;
    };

    void give(stream& l, const command& c);
    void wait(event& e);

private:
    void make_ready(stream& l);
    void offer(stream& l);
    void work();
    void drain(stream& l, std::unique_lock<std::mutex>& held);
    bool perform(stream& l, const command& c, std::unique_lock<std::mutex>& held);
    static clock::time_point end_of(const stream& l, const command& c);
    void tell_waiting();
    void run_clock();

    thread_pool* const pool_;
    std::mutex guard_;
    std::condition_variable changed_, alarm_;
    std::deque<stream*> ready_;
    std::atomic<int> ready_count_{0};
    int waiting_ = 0; // threads in wait()
    std::multimap<clock::time_point, stream*> sleeping_;
    std::thread clock_; // wakes streams whose copies have taken their time; there from the first such copy on
    bool ending_ = false;
};

/// The streams of one simulated device, whose copies take the time that its link asks for.
class simulated_streams final : public device_streams {
public:
    /// bandwidth in bytes a second, 0: without end; latency in seconds.
    simulated_streams(std::shared_ptr<simulated_machine> m, double bandwidth, double latency) :
        machine_(std::move(m)), bandwidth_(bandwidth), latency_(latency) {}

    void launch(kernel& k, const kernel_run& r, step_monitor& m, int number) override;
    void copy(stream l, void* to, const void* from, std::size_t bytes, step_monitor& m, int number) override;
    std::unique_ptr<device_event> make_event() override {
        return std::make_unique<simulated_machine::event>(*machine_);
    }
    void record(stream l, device_event& e) override;
    void wait(stream l, device_event& e) override;

private:
    std::shared_ptr<simulated_machine> machine_;
    const double bandwidth_, latency_;
    simulated_machine::stream streams_[count];
};

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/device/simulated_streams.ipp>
#endif
