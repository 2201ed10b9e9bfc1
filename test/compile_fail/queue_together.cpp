// Along dimension 0, all components have as many elements, also where what stands between says nothing.
// error[gcc]: enqueue_many: sizes differ: \[2\] x \[3\]
// error[clang]: enqueue_many_rule::together, tenon::fault::sizes_differ, .*<int, .*size<2> ?>, .*<float, .*size<3> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
using samples = tn::fifo_queue<std::int64_t, std::int32_t, float>;

auto f(const samples& q, const tn::tensor<std::int64_t, tn::shape<tn::dyn>>& any,
       const tn::tensor<std::int32_t, tn::shape<2>>& two, const tn::tensor<float, tn::shape<3>>& three,
       const tn::tensor<float, tn::shape<2>>& also_two) {
#ifdef TENON_EXPECT_ERROR
    (void)also_two;
    return q.enqueue_many(any, two, three);
#else
    (void)three;
    return q.enqueue_many(any, two, also_two);
#endif
}
