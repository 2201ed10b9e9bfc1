#pragma once

#include <cstdint>
#include <string>

/// Threads of a program one at a time, in an order that a seed draws.
///
/// scheduler.cpp has mutexes, condition variables, futexes (atomics that wait), clocks, sleep and threads of its own, which the
/// linker takes for those of the C library: so nothing of what is tested is changed for it. While a `drawn_order` lives, of its
/// thread and all that are made since, only one runs; where it locks, unlocks, waits, wakes or yields, the seed says who goes on.
/// Time passes by what is done, and, where nobody can go on, up to the next time that somebody waits for. Where there is none,
/// or nobody ends, the process says so and ends. Other atomic operations are no places to change threads, but for the locks that spin
/// (replaced/).

namespace interleavings {

struct order_options {
    std::uint64_t seed = 1;
    double changes = 0.1; ///< how often another thread goes on where one could
};

/// One at a time in a process. All threads made while it lives end before it does.
class drawn_order {
public:
    explicit drawn_order(const order_options& o);
    ~drawn_order();
    drawn_order(drawn_order&&) = delete;

    /// Of those that there were so far: places where threads may change, and changes.
    std::uint64_t places() const;
    std::uint64_t changes() const;
    /// Different for different orders, so far.
    std::uint64_t fingerprint() const;
};

/// What is said first where all threads wait for each other.
extern std::string now_running;

} // namespace interleavings
