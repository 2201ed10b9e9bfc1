// error[gcc]: random_crop: slice is out of range: \[batch, 28, 28, 1\] x \[32, 24\]
// error[clang]: random_crop_rule, tenon::fault::slice_out_of_range, .*batch, .*size<28>, .*size<28>, .*size<1>>, .*size<32>, .*size<24>
#include <tenon/ops/image/image_geometry.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
constexpr int height = 32;
#else
constexpr int height = 24;
#endif
auto crops(const tn::tensor<float, tn::shape<batch, 28, 28, 1>>& images) { return tn::random_crop<height, 24>(images); }
