// error[gcc]: matmul: two different named sizes meet: \[batch, 2, 3\] x \[heads, 3, 4\]
// error[clang]: matmul_op, tenon::fault::named_sizes_differ, .*batch.*heads

#include <tenon/ops/linear/matmul.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct heads : tn::dim<"heads"> {} heads;

tn::tensor<float, tn::shape<batch, 2, 3>> left;
#if defined(TENON_EXPECT_ERROR)
tn::tensor<float, tn::shape<heads, 3, 4>> right;
#else
tn::tensor<float, tn::shape<batch, 3, 4>> right;
#endif

int main() { (void)tn::matmul(left, right); }
