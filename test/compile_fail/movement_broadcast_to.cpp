// The complaint shows what was asked for.
// error[gcc]: broadcast_to: sizes do not broadcast: \[batch, 784\] x \[batch, 300\]
// error[clang]: broadcast_to_op, tenon::fault::sizes_do_not_broadcast, .*size<784> ?>, .*asked_sizes<batch, .*size<300> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 784>>& x) {
#ifdef TENON_EXPECT_ERROR
    return mean(tn::broadcast_to<tn::shape<batch, 300>>(x));
#else
    return mean(tn::broadcast_to<tn::shape<2, batch, 784>>(x));
#endif
}
