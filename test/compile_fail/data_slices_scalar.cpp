// Rows of a scalar.
// error[gcc]: In instantiation of .*slices
// error: tenon::data::slices: it takes arrays with a dimension 0 whose shape their type says
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::array<float, tn::shape<tn::dyn, 2>>& x, float y) {
#ifdef TENON_EXPECT_ERROR
    return tn::data::slices(x, y);
#else
    (void)y;
    return tn::data::slices(x, x);
#endif
}
