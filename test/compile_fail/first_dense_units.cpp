// The units of a layer.
// error[gcc]: In instantiation of .*tenon::nn::dense\(
// error: tenon::nn::dense: the number of units is a template argument: write dense<300>\(\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return mean(tn::nn::dense(300)(x));
#else
    return mean(tn::nn::dense<300>()(x));
#endif
}
