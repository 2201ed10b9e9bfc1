// A request to a model is checked as what is fed.
// error[gcc]: feed: sizes differ: \[batch, 784\] x \[batch, 300\]
// error[clang]: feed_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<784> ?>, .*<float, batch, .*size<300> ?>
#include <tenon/models.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

void f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& x,
       const tn::array<float, tn::shape<batch, 784>>& fits, const tn::array<float, tn::shape<batch, 300>>& wrong) {
    tn::model_server model(s, tn::feeds(x), [](auto v) { return v * 2.0f; });
#ifdef TENON_EXPECT_ERROR
    (void)fits;
    model(wrong);
#else
    (void)wrong;
    model(fits);
    model.start(fits);
#endif
}
