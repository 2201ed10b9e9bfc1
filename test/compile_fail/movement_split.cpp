// error[gcc]: split: size is not divisible: \[7, batch\]
// error[clang]: split_op, tenon::fault::size_not_divisible, .*size<7>, .*batch

#include <tenon/ops/shape/assembly.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#if defined(TENON_EXPECT_ERROR)
tn::tensor<float, tn::shape<7, batch>> x;
#else
tn::tensor<float, tn::shape<8, batch>> x;
#endif

int main() { (void)tn::split<2>(x); }
