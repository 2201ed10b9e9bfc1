// error[gcc]: In instantiation of .*tenon::adjust_hue\(
// error: tenon::adjust_hue: colours are computed with floating numbers: write cast<float>\(images\) / 255
#include <cstdint>
#include <tenon/ops/image/image_color.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto other_colors(const tn::tensor<std::uint8_t, tn::shape<batch, 32, 32, 3>>& images) {
#ifdef TENON_EXPECT_ERROR
    return tn::adjust_hue(images, 0.1);
#else
    return tn::adjust_hue(tn::cast<float>(images) / 255, 0.1);
#endif
}
