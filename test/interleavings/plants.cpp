#include "interleavings/plants.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <tenon/concurrency/spin_lock.hpp>

namespace interleavings {

namespace {

// Two add 1, and have let go of the lock between reading and writing.
std::string lost_update() {
    std::mutex guard;
    int value = 0;
    const auto add = [&] {
        std::unique_lock lock(guard);
        const int read = value;
        lock.unlock();
        lock.lock();
        value = read + 1;
    };
    std::thread one(add), two(add);
    one.join();
    two.join();
    return value == 2 ? "" : "an addition is lost";
}

// Who waits has looked before he holds the lock: then all threads wait for each other, which ends the process.
std::string lost_wakeup() {
    std::mutex guard;
    std::condition_variable changed;
    bool is_there = false;
    std::thread waits([&] {
        {
            const std::lock_guard lock(guard);
            if (is_there) return;
        }
        std::unique_lock lock(guard);
        changed.wait(lock);
    });
    {
        const std::lock_guard lock(guard);
        is_there = true;
    }
    changed.notify_one();
    waits.join();
    return {};
}

// Two numbers that are one, under a lock that spins, and who reads takes it for each.
std::string torn_read() {
    tenon::detail::spin_lock guard;
    int first = 0, second = 0;
    std::thread writes([&] {
        const tenon::detail::spin_guard lock(guard);
        ++first;
        ++second;
    });
    int seen_first = 0, seen_second = 0;
    {
        const tenon::detail::spin_guard lock(guard);
        seen_first = first;
    }
    {
        const tenon::detail::spin_guard lock(guard);
        seen_second = second;
    }
    writes.join();
    return seen_first == seen_second ? "" : "a pair is torn";
}

} // namespace

const std::map<std::string, std::string (*)()>& plants() {
    static const std::map<std::string, std::string (*)()> all{
        {"lost_update", lost_update}, {"lost_wakeup", lost_wakeup}, {"torn_read", torn_read}};
    return all;
}

} // namespace interleavings
