// How many dequeue_up_to gives is known in the step.
// error[gcc]: In instantiation of .*dequeue_up_to
// error: tenon::dequeue_up_to: how many it gives is known in the step; write dequeue_up_to\(32\), or dequeue_up_to<batch>\(32\)
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::fifo_queue<float>& q) {
#ifdef TENON_EXPECT_ERROR
    return q.dequeue_up_to<32>();
#else
    return q.dequeue_up_to(32);
#endif
}
