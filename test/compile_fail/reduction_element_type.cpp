// error[gcc]: mean: element type must be float, double, half or bfloat16: int32\[4, 10\]
// error[clang]: mean_op, tenon::fault::element_type_must_be_floating, .*shown_tensor<int,

#include <tenon/ops/reduce/reduction.hpp>

namespace tn = tenon;

#if defined(TENON_EXPECT_ERROR)
using element = int;
#else
using element = float;
#endif

tn::tensor<element, tn::shape<4, 10>> x;

int main() { (void)tn::mean(x); }
