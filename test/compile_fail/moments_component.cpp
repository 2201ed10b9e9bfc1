// Elements have one component, and that is number 0.
// error[gcc]: In instantiation of .auto tenon::data::moments
// error: tenon::data::moments: give a component's number, from 0, or a member of the struct that elements are
#include <tenon/input.hpp>

namespace tn = tenon;

void f() {
#ifdef TENON_EXPECT_ERROR
    (void)tn::data::moments<1>(tn::data::range(10));
#else
    (void)tn::data::moments<0>(tn::data::range(10));
#endif
}
