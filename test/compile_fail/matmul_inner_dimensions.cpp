// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[clang]: matmul_op, tenon::fault::inner_dimensions_differ, .*shown_tensor<float, .*batch.*, .*size<784>>, .*shown_tensor<float, .*size<300>, .*size<10>>

#include <tenon/ops/linear/matmul.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

tn::tensor<float, tn::shape<batch, 784>> x;
tn::tensor<float, tn::shape<784, 300>> w1;
tn::tensor<float, tn::shape<300, 10>> w2;

int main() {
#if defined(TENON_EXPECT_ERROR)
    auto y = tn::matmul(tn::matmul(x, w2), w2); // one complaint, although two calls are mistaken
#else
    auto y = tn::matmul(tn::matmul(x, w1), w2);
#endif
    (void)y;
}
