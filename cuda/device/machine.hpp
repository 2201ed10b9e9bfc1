#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include <tenon/core/function_ref.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/runtime/device/device.hpp>

/// Who finds out that GPUs have got somewhere, and tells those that wait for it.

namespace tenon::cuda {

/// What the GPUs of one session share. Streams are the driver's: it alone knows when an event is reached, and is asked by whoever
/// waits in work_until(); where nobody does, by a thread of this object, which is made when it is first needed.
class machine : public std::enable_shared_from_this<machine> {
public:
    machine() = default;
    ~machine();
    machine(machine&&) = delete;

    /// `told` is called once, on any thread, when `event`, which was recorded on `stream` of `card`, is reached; with what went wrong where
    /// the GPU can be used no more. Those of one stream are told in the order in which they came.
    void tell(int card, cudaStream_t stream, cudaEvent_t event, completion& told);
    /// The stream, on which nothing is awaited any more, is about to be destroyed.
    void forget(cudaStream_t stream) noexcept;
    /// A command between two events, of which `m` is told the times when they are reached; `began` and `ended` are given back then.
    struct timed_command {
        int card = 0;
        cudaEvent_t began = nullptr, ended = nullptr;
        step_monitor* monitor = nullptr;
        int number = 0;
    };
    void time(const timed_command& c);
    cudaEvent_t take_timer(int card);

    void work_until(function_ref<bool()> done);
    void wake() noexcept;
    /// What was given goes on although nobody is in work_until().
    void leave();

private:
    struct awaited {
        cudaEvent_t event;
        completion* told;
    };
    struct stream_queue { // of one stream, in order
        int card;
        cudaStream_t stream; // nullptr: of none any more
        std::deque<awaited> events;
    };
    // A moment that both clocks know: of a card, and of this machine in nanoseconds.
    struct moment {
        cudaEvent_t event = nullptr;
        std::int64_t at = 0;
        std::chrono::steady_clock::time_point taken;
    };
    bool look(std::unique_lock<std::mutex>& held);
    void rest(std::unique_lock<std::mutex>& held, std::chrono::steady_clock::time_point since);
    void tell_times(std::unique_lock<std::mutex>& held);
    moment& moment_of(int card);
    void take_moment(int card);
    std::int64_t time_of(int card, cudaEvent_t e);
    void watch();

    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::list<stream_queue> queues_;
    int outstanding_ = 0;  // events that are to be told
    int waiting_ = 0;      // threads in work_until()
    bool looking_ = false; // one of them, or the watcher, asks the driver and tells
    bool asking_ = false;  // one of those in work_until() does so again and again
    std::uint64_t wakes_ = 0;
    std::vector<timed_command> timed_;
    std::vector<std::pair<int, cudaEvent_t>> timers_; // that nobody uses
    std::vector<std::pair<int, moment>> moments_;     // by card
    std::thread watcher_;
    bool ending_ = false;
    const std::shared_ptr<bool> ended_by_watcher_ = std::make_shared<bool>(false); // that thread has ended this object
};

} // namespace tenon::cuda
