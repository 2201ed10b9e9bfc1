// A mask has the first of x's sizes.
// error[gcc]: boolean_mask: two different named sizes meet: \[batch, 784\] x \[time\]
// error[clang]: boolean_mask_op>, tenon::fault::named_sizes_differ, .*<float, batch, .*size<784> ?>, .*<bool, steps>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct steps : tn::dim<"time"> {} steps;

auto f(const tn::tensor<float, tn::shape<batch, 784>>& x, const tn::tensor<bool, tn::shape<steps>>& wrong,
       const tn::tensor<bool, tn::shape<batch>>& mask) {
#ifdef TENON_EXPECT_ERROR
    (void)mask;
    return tn::boolean_mask(x, wrong);
#else
    (void)wrong;
    return tn::boolean_mask(x, mask);
#endif
}
