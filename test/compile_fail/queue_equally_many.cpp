// Along dimension 0, all components have as many elements.
// error[gcc]: enqueue_many: sizes differ: \[batch\] x \[7, 784\]
// error[clang]: enqueue_many_rule::together, tenon::fault::sizes_differ, .*<int, batch>, .*<float, .*size<7>, .*size<784> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using samples = tn::random_shuffle_queue<std::int32_t, tn::component<float, tn::shape<784>>>;

auto f(const samples& q, const tn::tensor<std::int32_t, tn::shape<batch>>& labels,
       const tn::tensor<float, tn::shape<7, 784>>& seven, const tn::tensor<float, tn::shape<batch, 784>>& images) {
#ifdef TENON_EXPECT_ERROR
    (void)images;
    return q.enqueue_many(labels, seven);
#else
    (void)seven;
    return q.enqueue_many(labels, images);
#endif
}
