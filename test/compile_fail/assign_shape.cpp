// error[gcc]: assign: value does not fit the variable: \[784, 300\] x \[300, 784\]
// error[clang]: assign_rule, tenon::fault::value_does_not_fit_variable, .*<float, .*size<784>, .*size<300> ?>, .*<float, .*size<300>, .*size<784> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

void f(const tn::variable_tensor<float, tn::shape<784, 300>>& w, const tn::tensor<float, tn::shape<300, 784>>& x) {
#ifdef TENON_EXPECT_ERROR
    w.assign(x);
#else
    w.assign(transpose<1, 0>(x));
#endif
}
