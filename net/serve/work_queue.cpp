#include <net/serve/work_queue.hpp>

#include <utility>

namespace tenon::net {

work_queue::work_queue() : thread_([this] { work(); }) {}

work_queue::~work_queue() {
    {
        const std::lock_guard lock(guard_);
        ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void work_queue::post(std::function<void()> what) {
    {
        const std::lock_guard lock(guard_);
        posted_.push_back(std::move(what));
    }
    changed_.notify_one();
}

void work_queue::work() {
    for (;;) {
        std::function<void()> next; // ends without the lock
        {
            std::unique_lock lock(guard_);
            changed_.wait(lock, [this] { return ends_ || !posted_.empty(); });
            if (ends_) return;
            next = std::move(posted_.front());
            posted_.pop_front();
        }
        next();
    }
}

} // namespace tenon::net
