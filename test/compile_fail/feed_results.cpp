// A step that is fed wrongly gives as many results as ever.
// error[gcc]: feed: sizes differ: \[batch, 784\] x \[batch, 300\]
// error[clang]: feed_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<784> ?>, .*<float, batch, .*size<300> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

float f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& x,
        const tn::array<float, tn::shape<batch, 784>>& fits, const tn::array<float, tn::shape<batch, 300>>& wrong) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x), tn::no_op(), sum(x)));
#ifdef TENON_EXPECT_ERROR
    (void)fits;
    auto [m, n] = step(wrong);
#else
    (void)wrong;
    auto [m, n] = step(fits);
#endif
    return m.item() + n.item();
}
