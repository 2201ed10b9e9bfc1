// error[gcc]: take_along_axis: sizes differ: \[batch, 10\] x \[batch, 4\]
// error[clang]: take_along_axis_op, tenon::fault::sizes_differ, .*size<10>.*size<4>
#include <tenon/ops/shape/indexed.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 10>>& x, const tn::tensor<std::int64_t, tn::shape<batch, 4>>& i) {
#ifdef TENON_EXPECT_ERROR
    return tn::take_along_axis<0>(x, i);
#else
    return tn::take_along_axis<1>(x, i);
#endif
}
