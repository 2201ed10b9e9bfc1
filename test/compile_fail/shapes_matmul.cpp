// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[clang]: matmul_op, tenon::fault::inner_dimensions_differ, .*<float, batch, .*size<784> ?>, .*<float, .*size<300>, .*size<10> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 784>>& x, const tn::tensor<float, tn::shape<300, 10>>& w) {
#ifdef TENON_EXPECT_ERROR
    return softmax(relu(matmul(x, w)));
#else
    return x;
#endif
}
