// An array whose sizes are known when the program runs.
// error[gcc]: In instantiation of .*tenon::variable\(
// error: tenon::variable: the sizes of a variable must be numbers; of an array whose type does not say them
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::array<float>& a, const tn::array<float, tn::shape<3>>& b) {
#ifdef TENON_EXPECT_ERROR
    (void)b;
    return tn::variable("v", a);
#else
    (void)a;
    return tn::variable("v", b);
#endif
}
