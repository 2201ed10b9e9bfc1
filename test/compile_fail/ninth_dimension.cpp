// error[gcc]: expand_dims: a tensor has at most 8 dimensions: \[1, 2, 3, 4, 5, 6, 7, 8\]
// error[clang]: expand_dims_op, tenon::fault::too_many_dimensions

#include <tenon/ops/shape/indexing.hpp>

namespace tn = tenon;

#if defined(TENON_EXPECT_ERROR)
tn::tensor<float, tn::shape<1, 2, 3, 4, 5, 6, 7, 8>> x;
#else
tn::tensor<float, tn::shape<2, 3, 4, 5, 6, 7, 8>> x;
#endif

int main() { (void)tn::repeat<2>(x); }
