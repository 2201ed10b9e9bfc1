// error[gcc]: matmul: element types differ: float\[2, 3\] x double\[3, 4\]
// error[clang]: matmul_op, tenon::fault::element_types_differ, .*shown_tensor<float, .*shown_tensor<double,

#include <tenon/ops/linear/matmul.hpp>

namespace tn = tenon;

#if defined(TENON_EXPECT_ERROR)
using other = double;
#else
using other = float;
#endif

tn::tensor<float, tn::shape<2, 3>> left;
tn::tensor<other, tn::shape<3, 4>> right;

int main() { (void)tn::matmul(left, right); }
