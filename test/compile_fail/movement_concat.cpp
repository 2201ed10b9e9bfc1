// error[gcc]: concat: sizes differ: \[batch, 3\] x \[7, 5\]
// error[clang]: concat_op, tenon::fault::sizes_differ, .*batch.*size<3>.*size<7>, .*size<5>

#include <tenon/ops/shape/assembly.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

tn::tensor<float, tn::shape<batch, 3>> left;
#if defined(TENON_EXPECT_ERROR)
tn::tensor<float, tn::shape<7, 5>> right;
#else
tn::tensor<float, tn::shape<batch, 5>> right;
#endif

int main() { (void)tn::concat<1>(left, right); }
