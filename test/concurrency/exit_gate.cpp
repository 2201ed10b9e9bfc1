#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include <tenon/concurrency/exit_gate.hpp>

using tenon::detail::exit_gate;

TEST_CASE("a gate is closed when those inside have left; who closed it and who is inside go on") {
    static exit_gate gate, other;
    std::atomic<bool> is_inside{false}, goes_on{false}, has_left{false};
    std::thread inside([&] {
        const exit_gate::use use(gate);
        is_inside = true;
        is_inside.notify_all();
        goes_on.wait(false);
        const exit_gate::use again(gate), elsewhere(other); // it may be closed by now
        has_left = true;
    });
    is_inside.wait(false);
    std::thread closing([&] {
        goes_on = true;
        goes_on.notify_all();
        gate.close();
        CHECK(has_left.load());
        const exit_gate::use use(gate);
    });
    closing.join();
    inside.join();
    CHECK_NOTHROW(exit_gate::use{other});
    std::thread forgotten([] { CHECK_NOTHROW(exit_gate::use{other}); });
    forgotten.join();
}
