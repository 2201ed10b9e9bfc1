// error[gcc]: assign: element types differ: float\[3\] x double\[3\]
// error[clang]: assign_rule, tenon::fault::element_types_differ, .*<float, .*size<3> ?>, .*<double, .*size<3> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

void f(const tn::variable_tensor<float, tn::shape<3>>& w, const tn::tensor<double, tn::shape<3>>& x) {
#ifdef TENON_EXPECT_ERROR
    w.assign(x);
#else
    w.assign(tn::cast<float>(x));
#endif
}
