// error[gcc]: sum: axis is out of range: \[batch, 10\]
// error[clang]: sum_op, tenon::fault::axis_out_of_range, .*batch.*size<10>

#include <tenon/ops/reduce/reduction.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#if defined(TENON_EXPECT_ERROR)
constexpr int axis = 2;
#else
constexpr int axis = 1;
#endif

tn::tensor<float, tn::shape<batch, 10>> x;

int main() { (void)tn::sum<axis>(x, tn::keepdims); }
