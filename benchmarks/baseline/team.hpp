#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace baseline {

/// Threads that run one function together, the caller being the first, and meet at barriers. They spin for a
/// few microseconds, then park: what a person would write who wants the least between two phases of a step.
class team {
public:
    explicit team(int size) : size_(size) {
        for (int i = 1; i < size; ++i) threads_.emplace_back([this, i] { serve(i); });
    }
    ~team() {
        stop_ = true;
        round_.fetch_add(1);
        round_.notify_all();
        for (auto& thread : threads_) thread.join();
    }
    team(team&&) = delete;

    int size() const { return size_; }

    /// Calls body(0), ..., body(size - 1), each on its own thread, always the same one.
    void run(const std::function<void(int)>& body) {
        if (size_ > 1) {
            body_ = &body;
            round_.fetch_add(1);
            round_.notify_all();
        }
        body(0);
        barrier();
    }

    void barrier() {
        if (size_ == 1) return;
        const unsigned now = passed_.load();
        if (arrived_.fetch_add(1) + 1 == size_) {
            arrived_ = 0;
            passed_.fetch_add(1);
            passed_.notify_all();
        } else {
            wait(passed_, now);
        }
    }

private:
    static void wait(std::atomic<unsigned>& value, unsigned old) {
        for (int i = 0; i < 2000; ++i) {
            if (value.load() != old) return;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        value.wait(old);
    }

    void serve(int index) {
        for (unsigned seen = 0;; ++seen) {
            wait(round_, seen);
            if (stop_) return;
            (*body_)(index);
            barrier();
        }
    }

    int size_;
    std::vector<std::thread> threads_;
    const std::function<void(int)>* body_ = nullptr;
    alignas(64) std::atomic<unsigned> round_{0};
    alignas(64) std::atomic<int> arrived_{0};
    std::atomic<unsigned> passed_{0};
    std::atomic<bool> stop_{false};
};

} // namespace baseline
