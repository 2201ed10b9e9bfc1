// SEMANTICS 16: a fed value of the wrong sizes does not compile where they are known by type.
// error[gcc]: feed: sizes differ: \[batch, 784\] x \[batch, 300\]
// error[clang]: feed_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<784> ?>, .*<float, batch, .*size<300> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 784>>& x, const tn::array<float, tn::shape<batch, 784>>& fits,
       const tn::array<float, tn::shape<batch, 300>>& wrong) {
#ifdef TENON_EXPECT_ERROR
    (void)fits;
    return tn::feed(x, wrong);
#else
    (void)wrong;
    return tn::feed(x, fits);
#endif
}
