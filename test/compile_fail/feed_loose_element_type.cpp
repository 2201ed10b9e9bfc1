// The element type is known by type even where the sizes are not.
// error: feed
// error: tenon::feed: the array's element type is not the tensor's
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::tensor<float, tn::shape<3>>& x, const tn::array<float>& fits, const tn::array<double>& wrong) {
#ifdef TENON_EXPECT_ERROR
    (void)fits;
    return tn::feed(x, wrong);
#else
    (void)wrong;
    return tn::feed(x, fits);
#endif
}
