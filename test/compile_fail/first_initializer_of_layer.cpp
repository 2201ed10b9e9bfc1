// The same as a layer's option.
// error[gcc]: In instantiation of .*tenon::initializer::initializer\(
// error: tenon: how a variable begins is said by zeros\(\), constant_value\(v\), uniform\(low, high\), normal\(mean, deviation\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto layer() {
#ifdef TENON_EXPECT_ERROR
    return tn::nn::dense<10>({.kernel = tn::random_normal<float, tn::shape<784, 10>>()});
#else
    return tn::nn::dense<10>({.kernel = tn::normal()});
#endif
}
