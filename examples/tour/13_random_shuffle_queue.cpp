// A queue that shuffles: elements are taken in random order, and at least ten stay in it, so that there is something to choose
// from. Of 22 numbers five can be taken twice; the next five wait until three more have come.
//
//     22 numbers come, 5 are taken, 5 are taken, 12 are left
//     five more: ...
//     1 number comes, 2 numbers come: it still waits
//     3 numbers come: 5 are taken, 10 are left
//     no number was taken twice
#include <tenon/tenon.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <set>
#include <thread>

namespace tn = tenon;

int main() {
    const tn::random_shuffle_queue<std::int32_t> q(50, 10, {.seed = 7, .name = "numbers"});
    const auto x = tn::placeholder<std::int32_t>("x");
    const auto put = q.enqueue(x);
    const auto five = q.dequeue_many<5>();
    const auto held = q.size();

    tn::session sess;
    std::int32_t next = 0;
    const auto come = [&](int count) {
        for (int i = 0; i < count; ++i) sess.run(tn::feed(x, next++), put);
    };
    std::set<std::int32_t> taken;
    const auto take = [&] {
        const auto numbers = sess.run(five);
        taken.insert(numbers.data(), numbers.data() + 5);
    };
    const auto left = [&] { return static_cast<int>(sess.run(held).item()); };

    come(22);
    take();
    take();
    std::printf("22 numbers come, 5 are taken, 5 are taken, %d are left\n", left());
    try {
        sess.run_for(0.2, five);
    } catch (const tn::deadline_exceeded_error& e) {
        std::printf("five more: %s\n", e.what());
    }

    std::atomic<bool> done{false};
    std::thread waiting([&] {
        take();
        done = true;
    });
    come(1);
    come(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::printf("1 number comes, 2 numbers come: %s\n", done ? "it waits no more" : "it still waits");
    come(1);
    waiting.join();
    std::printf("3 numbers come: 5 are taken, %d are left\n", left());
    std::printf("%s\n", taken.size() == 15 ? "no number was taken twice" : "a number was taken twice");
    return 0;
}
