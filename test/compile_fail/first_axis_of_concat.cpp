// An axis behind what is concatenated.
// error[gcc]: In instantiation of .*tenon::concat\(
// error: tenon::concat: the axis is a template argument: write concat<1>\(x, y\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto both(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return mean(tn::concat(x, x, 1));
#else
    return mean(tn::concat<1>(x, x));
#endif
}
