// An update that broadcasts the variable to more elements than it has.
// error[gcc]: assign: value does not fit the variable: \[3\] x \[2, 3\]
// error[clang]: assign_rule, tenon::fault::value_does_not_fit_variable, .*<float, .*size<3> ?>, .*<float, .*size<2>, .*size<3> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

void f(const tn::variable_tensor<float, tn::shape<3>>& b, const tn::tensor<float, tn::shape<2, 3>>& gradient) {
#ifdef TENON_EXPECT_ERROR
    b.assign_sub(gradient * 0.1f);
#else
    b.assign_sub(sum<0>(gradient) * 0.1f);
#endif
}
