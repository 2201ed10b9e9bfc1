// Which 16 bits is not said.
// error[gcc]: In instantiation of .*tenon::nn::mixed_precision\(
// error: tenon::nn::mixed_precision: the element type is a template argument: mixed_precision<bfloat16>\(model\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    (void)x;
    return tn::nn::mixed_precision(tn::nn::dense<10>());
#else
    return tn::nn::mixed_precision<tn::bfloat16>(tn::nn::dense<10>())(x);
#endif
}
