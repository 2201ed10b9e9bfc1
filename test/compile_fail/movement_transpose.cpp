// error[gcc]: transpose: axes are not a permutation: \[2, 3, 4\]
// error[clang]: transpose_op, tenon::fault::axes_are_not_a_permutation, .*size<2>, .*size<3>, .*size<4>

#include <tenon/ops/shape/movement.hpp>

namespace tn = tenon;

#if defined(TENON_EXPECT_ERROR)
constexpr int last = 1;
#else
constexpr int last = 2;
#endif

tn::tensor<float, tn::shape<2, 3, 4>> x;

int main() { (void)tn::transpose<1, 0, last>(x); }
