// error[gcc]: matmul_float8: elements are float, half or bfloat16: double\[2, 3\] x double\[3, 4\]
// error[clang]: in_words<.*matmul_float8_op::what_it_takes>

#include <tenon/ops/linear/matmul_float8.hpp>

namespace tn = tenon;

#if defined(TENON_EXPECT_ERROR)
tn::tensor<double, tn::shape<2, 3>> left;
tn::tensor<double, tn::shape<3, 4>> right;
#else
tn::tensor<float, tn::shape<2, 3>> left;
tn::tensor<float, tn::shape<3, 4>> right;
#endif

int main() { (void)tn::matmul_float8(left, right); }
