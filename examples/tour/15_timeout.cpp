// A step that waits has a time limit, and says what it waited for when it is over. The queue and the session can be used
// afterwards. What is fed takes nothing out of the queue.
//
//     2
//     fed: 6
//     3
//     4
//     after 1 s: ...
//     and once there is one: 8
#include <tenon/tenon.hpp>

#include <chrono>
#include <cstdio>

namespace tn = tenon;

int main() {
    const tn::fifo_queue<float> q(10, {.name = "numbers"});
    const auto dequeue = q.dequeue();
    const auto output = dequeue + 1.0f;

    tn::session sess({.operation_timeout = 1});
    sess.run(q.enqueue_many(tn::constant({1.0f, 2.0f, 3.0f})));
    const auto value = [](const auto& a) { return static_cast<double>(a.item()); };
    std::printf("%g\n", value(sess.run(output)));
    std::printf("fed: %g\n", value(sess.run(tn::feed(dequeue, 5.0f), output)));
    std::printf("%g\n", value(sess.run(output)));
    std::printf("%g\n", value(sess.run(output)));

    const auto begin = std::chrono::steady_clock::now();
    try {
        sess.run(output);
    } catch (const tn::deadline_exceeded_error& e) {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::printf("after %.0f s: %s\n", took.count(), e.what());
    }
    sess.run(q.enqueue(7));
    std::printf("and once there is one: %g\n", value(sess.run(output)));
    return 0;
}
