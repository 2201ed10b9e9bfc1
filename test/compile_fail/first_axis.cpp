// An axis as an ordinary argument, as NumPy and TensorFlow have it.
// error[gcc]: In instantiation of .*tenon::sum\(
// error: tenon::sum: an axis is a template argument: write sum<1>\(x\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto rows(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return exp(sum(x, 1)) * 2.0f;
#else
    return exp(tn::sum<1>(x)) * 2.0f;
#endif
}
