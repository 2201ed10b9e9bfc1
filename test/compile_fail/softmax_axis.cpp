// error[gcc]: softmax: axis is out of range: \[batch, 10\]
// error[clang]: softmax_op, tenon::fault::axis_out_of_range, .*batch, .*size<10>
#include <tenon/ops/rows/softmax.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto probabilities(const tn::tensor<float, tn::shape<batch, 10>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::softmax<2>(x);
#else
    return tn::softmax<1>(x);
#endif
}
