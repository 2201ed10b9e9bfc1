// Sizes as a list.
// error[gcc]: In instantiation of .*tenon::reshape\(
// error: tenon::reshape: the sizes are a template argument: write reshape<shape<batch, 28, 28>>\(x\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto pictures(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::reshape(x, {-1, 28, 28});
#else
    return tn::reshape<tn::shape<batch, 28, 28>>(x);
#endif
}
