// Scalars in batches lie along a dimension whose size is not known, and are no channels.
// error[gcc]: In instantiation of .auto tenon::data::moments
// error: tenon::data::moments: how many channels there are, the last size of the component, must be a number
#include <tenon/input.hpp>

namespace tn = tenon;

void f() {
#ifdef TENON_EXPECT_ERROR
    (void)tn::data::moments<0>(tn::data::range(10).batch(5));
#else
    (void)tn::data::moments<0>(tn::data::range(10));
#endif
}
