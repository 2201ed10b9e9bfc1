// A named size of a component is no number, and no other name.
// error[gcc]: enqueue_many: value does not fit its component: float\[length\] x float\[batch, 7\]
// error[clang]: enqueue_many_rule, tenon::fault::value_does_not_fit_component, .*<float, length>, .*<float, batch, .*size<7> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct length : tn::dim<"length"> {} length;

auto f(const tn::queue<tn::component<float, tn::shape<length>>>& q, const tn::tensor<float, tn::shape<batch, 7>>& wrong,
       const tn::tensor<float, tn::shape<batch, length>>& x) {
#ifdef TENON_EXPECT_ERROR
    (void)x;
    return q.enqueue_many(wrong);
#else
    (void)wrong;
    return q.enqueue_many(x);
#endif
}
