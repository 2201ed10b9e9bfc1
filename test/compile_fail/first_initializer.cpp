// A random tensor where it is asked how a variable begins.
// error[gcc]: In instantiation of .*tenon::initializer::initializer\(
// error: tenon: how a variable begins is said by zeros\(\), constant_value\(v\), uniform\(low, high\), normal\(mean, deviation\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto weights() {
#ifdef TENON_EXPECT_ERROR
    return tn::variable<float, tn::shape<784, 10>>("w", tn::random_normal(0, 0.1));
#else
    return tn::variable<float, tn::shape<784, 10>>("w", tn::normal(0, 0.1));
#endif
}
