// error[gcc]: reshape: numbers of elements differ: \[batch, 28, 28\]
// error[clang]: reshape_op, tenon::fault::element_counts_differ, .*batch.*size<28>, .*size<28>

#include <tenon/ops/shape/movement.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#if defined(TENON_EXPECT_ERROR)
using wanted_sizes = tn::shape<batch, 28>;
#else
using wanted_sizes = tn::shape<batch, 784>;
#endif

tn::tensor<float, tn::shape<batch, 28, 28>> x;

int main() { (void)tn::reshape<wanted_sizes>(x); }
