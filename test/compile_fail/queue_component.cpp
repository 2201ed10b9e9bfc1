// A tuple's value that is not of its component's type, whatever the others are.
// error[gcc]: enqueue: value does not fit its component: float\[3, 2\] x float\[2, 3\]
// error[clang]: enqueue_rule, tenon::fault::value_does_not_fit_component, .*<float, .*size<3>, .*size<2> ?>, .*<float, .*size<2>, .*size<3> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::fifo_queue<std::int32_t, tn::component<float, tn::shape<3, 2>>>& q,
       const tn::tensor<float, tn::shape<2, 3>>& x) {
#ifdef TENON_EXPECT_ERROR
    return q.enqueue(7, x);
#else
    return q.enqueue(7, transpose(x));
#endif
}
