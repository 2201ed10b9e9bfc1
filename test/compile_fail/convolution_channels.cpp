// error[gcc]: conv2d: numbers of channels differ: \[batch, 28, 28, 3\] x \[5, 5, 1, 32\]
// error[clang]: conv2d_op, tenon::fault::channels_differ, .*batch, .*size<28>, .*size<3>>, .*size<5>, .*size<1>, .*size<32>
#include <tenon/ops/linear/convolution.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto layer(const tn::tensor<float, tn::shape<batch, 28, 28, 3>>& x, const tn::tensor<float, tn::shape<5, 5, 1, 32>>& w,
           const tn::tensor<float, tn::shape<5, 5, 3, 32>>& w3) {
#ifdef TENON_EXPECT_ERROR
    return tn::conv2d(x, w);
#else
    return tn::conv2d(x, w3);
#endif
}
