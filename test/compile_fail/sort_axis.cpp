// error[gcc]: sort: axis is out of range: \[batch, 10\], axis 2
// error[clang]: sort_op, tenon::fault::axis_out_of_range, .*asked_axes<2>
#include <tenon/ops/reduce/sort.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 10>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::sort<2>(x);
#else
    return tn::sort<1>(x);
#endif
}
