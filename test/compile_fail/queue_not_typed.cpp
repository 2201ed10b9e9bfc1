// What has no type, or is an array, is not enqueued as it is.
// error[gcc]: In instantiation of .*put
// error: tenon::queue: what is enqueued is a tensor, or for a scalar a number or text of its kind
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::fifo_queue<tn::component<float, tn::shape<3>>>& q, const tn::any_tensor& x) {
#ifdef TENON_EXPECT_ERROR
    return q.enqueue(x);
#else
    return q.enqueue(tn::as<float, tn::shape<3>>(x));
#endif
}
