// Axes in braces.
// error[gcc]: In instantiation of .*tenon::transpose\(
// error: tenon::transpose: axes are template arguments: write transpose<1, 0>\(x\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto turned(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::transpose(x, {1, 0});
#else
    return tn::transpose<1, 0>(x);
#endif
}
