// An axis as an ordinary argument.
// error[gcc]: In instantiation of .*tenon::sort\(
// error: tenon::sort: the axis is a template argument: write sort<1>\(x\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return sort(x, 1);
#else
    return tn::sort<1>(x);
#endif
}
