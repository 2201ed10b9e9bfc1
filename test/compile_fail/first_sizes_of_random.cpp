// Sizes as an ordinary argument.
// error[gcc]: In instantiation of .*tenon::random_normal\(
// error: tenon::random_normal: the sizes are a template argument: write random_normal<float, shape<2, 3>>\(\)
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::random_normal(tn::shape<3, 4>());
#else
    return tn::random_normal<float, tn::shape<3, 4>>();
#endif
}
