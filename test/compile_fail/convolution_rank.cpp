// error[gcc]: conv2d: rank must be 4 \(batch, height, width, channels\): \[28, 28, 1\] x \[5, 5, 1, 32\]
// error[clang]: conv2d_op, tenon::fault::rank_must_be_4, .*size<28>, .*size<28>, .*size<1>>, .*size<5>
#include <tenon/ops/linear/convolution.hpp>
namespace tn = tenon;

auto layer(const tn::tensor<float, tn::shape<28, 28, 1>>& one, const tn::tensor<float, tn::shape<1, 28, 28, 1>>& x,
           const tn::tensor<float, tn::shape<5, 5, 1, 32>>& w) {
#ifdef TENON_EXPECT_ERROR
    return tn::conv2d(one, w);
#else
    (void)one;
    return tn::conv2d(x, w);
#endif
}
