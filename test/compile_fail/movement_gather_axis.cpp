// The complaint shows the axis.
// error[gcc]: gather: axis is out of range: \[1000, 64\] x \[batch\], axis -3
// error[clang]: gather_op, tenon::fault::axis_out_of_range, .*asked_axes<-3>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<1000, 64>>& x, const tn::tensor<std::int32_t, tn::shape<batch>>& i) {
#ifdef TENON_EXPECT_ERROR
    return mean(tn::gather<-3>(x, i));
#else
    return mean(tn::gather<-2>(x, i));
#endif
}
