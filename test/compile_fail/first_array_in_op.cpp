// An array is a value, not a node.
// error[gcc]: In instantiation of .*tenon::operator\*\(
// error: tenon: an array is no tensor: write constant\(a.copy\(\)\), or feed a placeholder
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(const images& x, const tn::array<float, tn::shape<784>>& a) {
#ifdef TENON_EXPECT_ERROR
    return mean(x * a);
#else
    return mean(x * tn::constant(a.copy()));
#endif
}
