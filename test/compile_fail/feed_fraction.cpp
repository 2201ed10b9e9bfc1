// 16: a number with a fraction is not fed to integers.
// error: feed
// error: tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind
#include <cstdint>

#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::int32_t, tn::shape<>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::feed(x, 3.7);
#else
    return tn::feed(x, 3);
#endif
}
