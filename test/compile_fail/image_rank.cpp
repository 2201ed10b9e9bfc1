// error[gcc]: resize: rank is too low: \[batch, 784\]
// error[clang]: resize_rule, tenon::fault::rank_too_low, .*batch, .*size<784>
#include <tenon/ops/image/image_resize.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
using images = tn::shape<batch, 784>;
#else
using images = tn::shape<batch, 28, 28, 1>;
#endif
auto larger(const tn::tensor<float, images>& x) { return tn::resize<tn::bilinear, 32, 32>(x); }
