#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include <tenon/graph/tensor.hpp>
#include <tenon/op/wait.hpp>

/// An op that waits for nothing in particular, and so changes nothing but where steps are cut.

namespace reference {

/// Completes what it is told of, in another thread.
class other_thread {
public:
    static other_thread& get() {
        static other_thread t;
        return t;
    }
    void enter(tenon::completion& c) {
        const std::lock_guard lock(guard_);
        waiting_.push_back(&c);
        changed_.notify_one();
    }
    bool leave(tenon::completion& c) {
        const std::lock_guard lock(guard_);
        return std::erase(waiting_, &c) > 0;
    }

private:
    other_thread() : thread_([this] { run(); }) {}
    ~other_thread() {
        {
            const std::lock_guard lock(guard_);
            ended_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    void run() {
        std::unique_lock lock(guard_);
        for (;;) {
            changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
            if (ended_) return;
            tenon::completion* const c = waiting_.front();
            waiting_.pop_front();
            lock.unlock();
            c->completed(nullptr);
            lock.lock();
        }
    }
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::deque<tenon::completion*> waiting_;
    bool ended_ = false;
    std::thread thread_;
};

/// Its input. `elsewhere`: completed by another thread. `hides`: its rule says nothing of its sizes.
struct pause_op {
    static constexpr const char* name = "test_pause";
    static constexpr tenon::op_flags flags = tenon::op_flags::waits;
    static constexpr tenon::element_types gpu_types = tenon::no_elements;
    struct attributes {
        bool elsewhere = false, hides = false;
    };
    static tenon::inferred infer(const attributes& a, tenon::type_list in, int) {
        if (in.size() != 1) return tenon::fault::expects_more_operands;
        tenon::extents sizes = in[0].extents;
        for (int d = 0; d < sizes.rank() && a.hides; ++d) sizes[d] = tenon::dynamic_extent;
        return tenon::inferred(in[0].element, sizes);
    }
    class passage final : public tenon::wait {
    public:
        explicit passage(bool elsewhere) : elsewhere_(elsewhere) {}
        void start(const tenon::step&, tenon::completion& then) override {
            then_ = &then;
            if (elsewhere_) other_thread::get().enter(then);
            else then.completed(nullptr);
        }
        bool stop() noexcept override { return elsewhere_ && then_ && other_thread::get().leave(*then_); }
        std::string awaited() const override { return "another thread"; }

    private:
        const bool elsewhere_;
        tenon::completion* then_ = nullptr;
    };
    struct pause_kernel final : tenon::waiting_kernel {
        explicit pause_kernel(const tenon::kernel_setup& s) : elsewhere(tenon::decode<attributes>(s.attrs).elsewhere) {}
        std::unique_ptr<tenon::wait> make_wait() const override { return std::make_unique<passage>(elsewhere); }
        bool elsewhere;
    };
    static tenon::kernel_pointer prepare(const tenon::kernel_setup& s) { return std::make_unique<pause_kernel>(s); }
};
inline const tenon::op_definition& pause_definition = tenon::definition_of<pause_op>();

} // namespace reference
