// Values where functions are.
// error[gcc]: In instantiation of .*tenon::cond\(
// error: tenon::cond: both sides are functions without arguments
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::cond(sum(x) > 0.0f, x, x * 2.0f);
#else
    return tn::cond(
        sum(x) > 0.0f, [&] { return x; }, [&] { return x * 2.0f; });
#endif
}
