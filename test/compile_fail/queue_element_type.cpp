// A queue of float is no queue of double.
// error[gcc]: enqueue: value does not fit its component: float\[batch\] x double\[batch\]
// error[clang]: enqueue_rule, tenon::fault::value_does_not_fit_component, .*<float, batch>, .*<double, batch>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::fifo_queue<tn::component<float, tn::shape<batch>>>& q, const tn::tensor<double, tn::shape<batch>>& x) {
#ifdef TENON_EXPECT_ERROR
    return q.enqueue(x);
#else
    return q.enqueue(cast<float>(x));
#endif
}
