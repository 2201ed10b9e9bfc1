// error[gcc]: rgb_to_grayscale: numbers of channels differ: \[batch, 32, 32, 1\]
// error[clang]: rgb_to_grayscale_rule, tenon::fault::channels_differ, .*batch, .*size<32>, .*size<32>, .*size<1>
#include <tenon/ops/image/image_color.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
constexpr int channels = 1;
#else
constexpr int channels = 3;
#endif
auto gray(const tn::tensor<float, tn::shape<batch, 32, 32, channels>>& images) { return tn::rgb_to_grayscale(images); }
