// error[gcc]: conv2d: window is larger than the padded input: \[8, 4, 4, 3\] x \[5, 5, 3, 32\]
// error[clang]: conv2d_op, tenon::fault::window_larger_than_input, .*size<4>, .*size<5>
// A mistake deep in a model is one error: what follows absorbs it.
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/pooling.hpp>
#include <tenon/ops/rows/softmax.hpp>
namespace tn = tenon;

auto model(const tn::tensor<float, tn::shape<8, 4, 4, 3>>& x, const tn::tensor<float, tn::shape<5, 5, 3, 32>>& w) {
#ifdef TENON_EXPECT_ERROR
    const auto a = tn::conv2d(x, w);
#else
    const auto a = tn::conv2d<1, tn::same>(x, w);
#endif
    const auto b = tn::max_pool2d<2>(a);
    const auto c = tn::average_pool2d<2, 1>(b);
    return tn::softmax(tn::global_average_pool(c));
}
