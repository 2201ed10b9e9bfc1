// error[gcc]: conv2d: channels are not divisible by groups: \[8, 14, 14, 6\] x \[3, 3, 3, 32\]
// error[clang]: conv2d_op, tenon::fault::channels_not_divisible_by_groups, .*size<6>>, .*size<3>, .*size<32>
#include <tenon/ops/linear/convolution.hpp>
namespace tn = tenon;

auto layer(const tn::tensor<float, tn::shape<8, 14, 14, 6>>& x, const tn::tensor<float, tn::shape<3, 3, 3, 32>>& w) {
#ifdef TENON_EXPECT_ERROR
    return tn::conv2d<tn::conv2d_options{.groups = 4}>(x, w);
#else
    return tn::conv2d<tn::conv2d_options{.groups = 2}>(x, w);
#endif
}
