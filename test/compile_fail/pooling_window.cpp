// error[gcc]: max_pool2d: window is larger than the padded input: \[batch, 2, 14, 6\]
// error[clang]: max_pool2d_op, tenon::fault::window_larger_than_input, .*batch, .*size<2>, .*size<14>
#include <tenon/ops/linear/pooling.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto layer(const tn::tensor<float, tn::shape<batch, 2, 14, 6>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::max_pool2d<3>(x);
#else
    return tn::max_pool2d<3, 3, tn::same>(x);
#endif
}
