// A tuple of another number of components.
// error[gcc]: In instantiation of .*put
// error: tenon::queue: give one value for each component of the queue's elements
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::fifo_queue<std::int32_t, std::string>& q, const tn::tensor<std::int32_t, tn::shape<>>& x) {
#ifdef TENON_EXPECT_ERROR
    return q.enqueue(x);
#else
    return q.enqueue(x, "its name");
#endif
}
